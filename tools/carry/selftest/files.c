/* SPDX-License-Identifier: MIT */
/* Lists the files whose code is tested: objects in the dynamic linker's list. */
#define _GNU_SOURCE
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest/selftest.h"

#define OWN_PREFIX "libcarry"

struct list {
    uintptr_t tested; /* a function of the tested library */
    struct selftest_file *files;
    size_t count;
};

static size_t padded_size(size_t size) {
    return (size + 3) & ~(size_t)3;
}

static char *hexadecimal_text(const unsigned char *bytes, size_t size) {
    char *text = malloc(2 * size + 1);
    for (size_t i = 0; text && i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

/* Returns the build ID in the notes of a segment; NULL if there is none. */
static char *build_id_in(const unsigned char *notes, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof note);
        const size_t name = sizeof note, content = name + padded_size(note.n_namesz);
        const size_t next = content + padded_size(note.n_descsz);
        if (next > size)
            return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
            return hexadecimal_text(notes + content, note.n_descsz);
        notes += next;
        size -= next;
    }
    return NULL;
}

static char *build_id_of(const struct dl_phdr_info *info) {
    char *found = NULL;
    for (size_t i = 0; i < info->dlpi_phnum && !found; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            found = build_id_in((const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                info->dlpi_phdr[i].p_memsz);
    return found;
}

static char *program_path(void) {
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    return strdup(path);
}

static bool has_own_name(const char *path) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

static bool contains_address(const struct dl_phdr_info *info, uintptr_t address) {
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address - start < info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

/* Adds an object of the list if it is the program, has a name of the library, or contains the
 * tested library. The first object is the program: musl gives its name, glibc an empty one. */
static int add_file(struct dl_phdr_info *info, size_t size, void *context) {
    struct list *list = context;
    const bool is_program = list->count == 0;
    (void)size;
    if (!is_program && !has_own_name(info->dlpi_name) && !contains_address(info, list->tested))
        return 0;
    struct selftest_file *more = realloc(list->files, (list->count + 1) * sizeof *more);
    if (!more)
        return 1;
    list->files = more;
    more[list->count++] = (struct selftest_file){
        is_program ? program_path() : strdup(info->dlpi_name), build_id_of(info)};
    return 0;
}

struct selftest_file *selftest_files(const struct library *library, size_t *count) {
    struct list list = {.tested = (uintptr_t)library->carry_version};
    dl_iterate_phdr(add_file, &list);
    *count = list.count;
    return list.files;
}
