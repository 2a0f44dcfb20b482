/* SPDX-License-Identifier: MIT */
#include "version.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <carry/carry.h>

#include "build.h"
#include "common/filter.h"
#include "common/kernel_table.h"
#include "common/text.h"

#define LIST_BYTES 512

#define DECLARE(name, function) const char *function(void);
#define NOTHING(...)
BUILD_LIBRARIES(DECLARE, NOTHING, NOTHING)

/* Adds a library to a list such as "zlib 1.2.13, bzip2 1.0.8". Text after a version, such as a
   date, is omitted. */
static void add_library(char *list, const char *name, const char *version) {
    const size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s%s %.*s", used ? ", " : "", name,
             (int)strcspn(version, " ,"), version);
}

/* Adds a library whose version is a number of three parts of `bits` bits. Unused in builds without
   such libraries. */
__attribute__((unused)) static void add_numbered_library(char *list, const char *name,
                                                         uint64_t number, unsigned bits) {
    const uint64_t part = (UINT64_C(1) << bits) - 1;
    char version[TEXT_SIZE];
    snprintf(version, sizeof version, "%u.%u.%u", (unsigned)(number >> 2 * bits & part),
             (unsigned)(number >> bits & part), (unsigned)(number & part));
    add_library(list, name, version);
}

static void print_libraries(void) {
    char list[LIST_BYTES] = "";
#define ADD(name, function)             add_library(list, #name, function());
#define ADD_TEXT(name, version)         add_library(list, #name, version);
#define ADD_NUMBER(name, version, bits) add_numbered_library(list, #name, version, bits);
    BUILD_LIBRARIES(ADD, ADD_TEXT, ADD_NUMBER)
    const char *pcap = filter_library();
    if (pcap)
        add_library(list, "libpcap", pcap);
    text_print_field("Libraries", list);
}

static void print_kernel_names(void) {
    char list[LIST_BYTES] = "";
    for (size_t i = 0; i < KERNEL_TABLE_COUNT; i++)
        add_library(list, kernel_tables[i].name, kernel_table_chosen_name(&kernel_tables[i]));
    text_print_field("Kernels", list);
}

const char *version_commit(void) {
    return BUILD_COMMIT;
}

void version_print(void) {
    printf("carry %s\n", carry_version_text());
    text_print_field("Commit", BUILD_COMMIT);
    print_libraries();
    print_kernel_names();
}
