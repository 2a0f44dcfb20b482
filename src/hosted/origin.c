/* SPDX-License-Identifier: MIT */
/* The origins of text: what the dynamic linker reported when the object was registered. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/origin.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

size_t carry_page_bytes(void) {
    static size_t bytes;
    if (!bytes)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

static struct carry_text_origin *origins;

static void note_pages(struct carry_text_origin *origin, uintptr_t low, const ElfW(Phdr) * part) {
    const uintptr_t inside = carry_page_bytes() - 1;
    size_t before = low & inside;
    origin->pages.low = low - before;
    origin->pages.high = (low + part->p_filesz + inside) & ~inside;
    origin->offset = (off_t)(part->p_offset - before);
    origin->end = (off_t)(part->p_offset + part->p_filesz);
}

/* Copies the first bytes of an object. They identify it, because they contain the build ID. */
static void note_head(struct carry_text_origin *origin, uintptr_t low, const ElfW(Phdr) * part) {
    origin->head_bytes = part->p_filesz < CARRY_ORIGIN_HEAD_BYTES ? (unsigned)part->p_filesz
                                                                  : CARRY_ORIGIN_HEAD_BYTES;
    memcpy(origin->head, (const void *)low, origin->head_bytes);
}

static void note_protection(struct carry_text_origin *origin, const struct dl_phdr_info *info) {
    const void *properties = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_PROPERTY) {
            properties = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            size = info->dlpi_phdr[i].p_filesz;
        }
    origin->protection = carry_pages_protection(properties, size);
}

static int find_object_origin(struct dl_phdr_info *info, size_t size, void *data) {
    struct carry_text_origin *origin = data;
    const ElfW(Phdr) *first = NULL;
    bool found = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (!part->p_offset && part->p_flags & PF_R)
            first = part;
        if (origin->address >= (low & ~(carry_page_bytes() - 1)) &&
            origin->address < low + part->p_filesz) {
            note_pages(origin, low, part);
            found = true;
        }
    }
    if (!found)
        return false;
    note_protection(origin, info);
    if (first)
        note_head(origin, info->dlpi_addr + first->p_vaddr, first);
    origin->name = strdup(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
    return true;
}

static void free_origin(struct carry_text_origin *origin) {
    free(origin->name);
    free(origin);
}

struct carry_text_origin *carry_origin_look_up(uintptr_t address) {
    struct carry_text_origin *origin = calloc(1, sizeof *origin);
    if (!origin)
        return NULL;
    origin->address = address;
    if (dl_iterate_phdr(find_object_origin, origin) && origin->name && origin->head_bytes)
        return origin;
    free_origin(origin);
    return NULL;
}

void carry_origin_forget(uintptr_t low, uintptr_t high) {
    for (struct carry_text_origin **place = &origins; *place;) {
        struct carry_text_origin *origin = *place;
        if (origin->pages.low < high && low < origin->pages.high) {
            *place = origin->next;
            free_origin(origin);
        } else {
            place = &origin->next;
        }
    }
}

void carry_origin_note(struct carry_text_origin *origin) {
    carry_origin_forget(origin->pages.low, origin->pages.high);
    origin->next = origins;
    origins = origin;
}

const struct carry_text_origin *carry_origin_of(const struct carry_text_run *run) {
    const struct carry_text_origin *origin = origins;
    while (origin && (run->low < origin->pages.low || run->high > origin->pages.high))
        origin = origin->next;
    return origin;
}

/* Checks that the file is still the file that was loaded: it may have been replaced or cut. */
static bool is_as_loaded(int fd, const struct carry_text_origin *origin) {
    unsigned char head[CARRY_ORIGIN_HEAD_BYTES];
    struct stat now;
    return !fstat(fd, &now) && now.st_size >= origin->end &&
           pread(fd, head, origin->head_bytes, 0) == (ssize_t)origin->head_bytes &&
           !memcmp(head, origin->head, origin->head_bytes);
}

int carry_origin_open(const struct carry_text_origin *origin) {
    int fd = origin ? open(origin->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (fd < 0 || is_as_loaded(fd, origin))
        return fd;
    close(fd);
    return -1;
}

static int page_protection(uintptr_t page) {
    for (const struct carry_text_origin *origin = origins; origin; origin = origin->next)
        if (origin->pages.low <= page && page < origin->pages.high)
            return origin->protection;
    return PROT_READ | PROT_EXEC;
}

int carry_origin_protection(const struct carry_text_run *run) {
    int protection = page_protection(run->low);
    for (uintptr_t page = run->low; page < run->high; page += carry_page_bytes())
        protection &= page_protection(page);
    return protection;
}
