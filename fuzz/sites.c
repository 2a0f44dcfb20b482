/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of ELF files, and all output of `carry sites` about such a file.
 *
 * The input is an ELF file. Binary searches must have the results of linear searches; the output
 * must be JSON, or text that cannot control a terminal.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/command.h"
#include "fuzz.h"
#include "sites/carry_sites.h"
#include "sites/open.h"

/* The most entries of each table that are looked up. */
#define PROBES_MAX 64

/* A file in memory only; the path opens it again. */
struct memory_file {
    int descriptor;
    char path[32];
};

static void start_file(struct memory_file *file, const void *data, size_t size) {
    if (!*file->path) {
        file->descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->descriptor);
    }
    REQUIRE(ftruncate(file->descriptor, 0) == 0 && lseek(file->descriptor, 0, SEEK_SET) == 0);
    REQUIRE(!size || write(file->descriptor, data, size) == (ssize_t)size);
}

/* --- Look-ups --- */

static const struct object_load *find_load(const struct object *object, uint64_t address) {
    for (size_t i = 0; i < object->loads_count; i++)
        if (address >= object->loads[i].address &&
            address - object->loads[i].address < object->loads[i].size)
            return &object->loads[i];
    return NULL;
}

static size_t find_record_from(const struct object *object, uint64_t address) {
    size_t i = 0;
    while (i < object->records_count && object->records[i].site < address)
        i++;
    return i;
}

/* Requires that `read` holds the segment's bytes in the file, and zeros after them. */
static void check_bytes(const struct object_load *load, uint64_t address, const uint8_t *read,
                        size_t count, const uint8_t *data) {
    uint64_t from = address - load->address;
    for (size_t i = 0; i < count; i++)
        REQUIRE(read[i] == (from + i < load->file_bytes ? data[load->offset + from + i] : 0));
}

static void check_address(const struct program *program, uint64_t address, const uint8_t *data) {
    const struct object *object = program->objects[0];
    const struct object_load *load = find_load(object, address);
    const struct object_relocation *relocation = object_relocation_at(object, address);
    const struct object_symbol *symbol = object_symbol_at(object, address, "");
    const struct record *const *bodies;
    uint8_t *read = malloc(8);
    REQUIRE(read && object_load_of(object, address) == load);
    REQUIRE(object_record_from(object, address) == find_record_from(object, address));
    bool done = object_read(object, address, read, 8);
    REQUIRE(done == (load && load->size - (address - load->address) >= 8));
    if (done)
        check_bytes(load, address, read, 8, data);
    free(read);
    REQUIRE(!relocation || relocation->at == address);
    REQUIRE(!symbol || symbol->address == address);
    size_t count = program_bodies(program, address, &bodies);
    REQUIRE(count <= PROGRAM_BODIES_MAX);
    for (size_t i = 0; i < count; i++)
        REQUIRE(bodies[i]->key == address);
}

static void check_around(const struct program *program, uint64_t address, const uint8_t *data) {
    check_address(program, address - 1, data);
    check_address(program, address, data);
    check_address(program, address + 1, data);
}

static size_t probe_count(size_t count) {
    return count < PROBES_MAX ? count : PROBES_MAX;
}

static void check_look_up(const struct program *program, const uint8_t *data, size_t size) {
    const struct object *object = program->objects[0];
    for (size_t i = 0; i < probe_count(object->loads_count); i++) {
        const struct object_load *load = &object->loads[i];
        REQUIRE(load->offset <= size && load->file_bytes <= size - load->offset);
        check_around(program, load->address, data);
        check_around(program, load->address + load->file_bytes, data);
        check_around(program, load->address + load->size, data);
    }
    for (size_t i = 0; i < probe_count(object->records_count); i++) {
        check_around(program, object->records[i].site, data);
        check_around(program, object->records[i].key, data);
        check_around(program, object->records[i].aux, data);
    }
    for (size_t i = 0; i < probe_count(object->relocations_count); i++)
        REQUIRE(object_relocation_at(object, object->relocations[i].at));
    for (size_t i = 0; i < probe_count(object->symbols_count); i++) {
        const struct object_symbol *symbol = &object->symbols[i];
        REQUIRE(object_symbol_at(object, symbol->address, symbol->name));
        REQUIRE(object_symbol_named(object, symbol->name));
        check_around(program, symbol->address, data);
    }
}

/* --- Output --- */

/* Returns all output of sites_run(); the caller frees it. */
static char *print_sites(const struct sites_options *options, int *status) {
    static struct memory_file output;
    start_file(&output, NULL, 0);
    fflush(stdout);
    const int own = dup(STDOUT_FILENO);
    REQUIRE(own >= 0 && dup2(output.descriptor, STDOUT_FILENO) >= 0);
    *status = sites_run(options);
    fflush(stdout);
    REQUIRE(dup2(own, STDOUT_FILENO) >= 0 && close(own) == 0);
    const off_t size = lseek(output.descriptor, 0, SEEK_END);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    REQUIRE(text && pread(output.descriptor, text, (size_t)size, 0) == size);
    text[size] = '\0';
    return text;
}

static bool is_of_type(const json_t *line, const char *type) {
    const char *own = json_string_value(json_object_get(line, "type"));
    REQUIRE(own);
    return strcmp(own, type) == 0;
}

/* Parses lines of JSON: the last one, and no other, must be the summary. Returns how many lines
   have the type `type`. */
static size_t count_json(const char *text, const char *type) {
    size_t count = 0;
    bool ended = false;
    for (const char *next; *text; text = next + 1) {
        next = strchr(text, '\n');
        REQUIRE(next && !ended);
        json_t *line = json_loadb(text, (size_t)(next - text), 0, NULL);
        REQUIRE(line);
        count += is_of_type(line, type);
        ended = is_of_type(line, "summary");
        json_decref(line);
    }
    REQUIRE(ended);
    return count;
}

static void check_clean(const char *text) {
    for (; *text; text++)
        REQUIRE(*text == '\n' || !iscntrl((unsigned char)*text));
}

static void check_site_list(const char *path, size_t records) {
    int status;
    char *text = print_sites(&(struct sites_options){.name = path}, &status);
    char *json = print_sites(&(struct sites_options){.name = path, .json = true}, &status);
    REQUIRE(status == STATUS_CLEAN);
    check_clean(text);
    REQUIRE(count_json(json, "site") == records);
    free(text);
    free(json);
}

static void check_findings(const char *path) {
    int status, again;
    char *text = print_sites(&(struct sites_options){.name = path, .check = true}, &status);
    char *json =
        print_sites(&(struct sites_options){.name = path, .check = true, .json = true}, &again);
    REQUIRE(status == again);
    check_clean(text);
    REQUIRE((count_json(json, "finding") > 0) == (status == STATUS_BAD));
    free(text);
    free(json);
}

/* --- Files that are refused --- */

/* Checks whether the file is refused; checks also the message that program_open() would print. */
static bool is_refused_file(const struct memory_file *file) {
    char problem[OBJECT_PROBLEM_SIZE] = "";
    struct object *object = object_open(dup(file->descriptor), "", file->path, problem);
    if (object)
        object_close(object);
    REQUIRE(!object == (*problem != '\0'));
    REQUIRE(strlen(problem) < sizeof problem - 1);
    check_clean(problem);
    REQUIRE(strchr(problem, '\n') == NULL);
    return !object;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct memory_file file;
    struct program program;
    start_file(&file, data, size);
    if (is_refused_file(&file))
        return 0;
    REQUIRE(program_open(&program, file.path) == STATUS_CLEAN);
    check_look_up(&program, data, size);
    const size_t records = program.objects[0]->records_count;
    program_close(&program);
    check_site_list(file.path, records);
    check_findings(file.path);
    return 0;
}
