/* SPDX-License-Identifier: MIT */
/* Asks the dynamic linker which parts of an object are loaded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_patch.h"

#include <link.h>

struct search {
    uintptr_t address;
    struct carry_text_part *parts;
    size_t limit;
    size_t count;
};

static bool contains_address(const struct dl_phdr_info *info, uintptr_t address) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

static int find_object_parts(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    (void)size;
    if (!contains_address(info, search->address))
        return false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_R))
            continue;
        if (search->count < search->limit)
            search->parts[search->count] =
                (struct carry_text_part){low, low + part->p_memsz, (part->p_flags & PF_X) != 0};
        search->count++;
    }
    return true;
}

size_t carry_object_parts(uintptr_t address, struct carry_text_part *parts, size_t limit) {
    struct search search = {address, parts, limit, 0};
    dl_iterate_phdr(find_object_parts, &search);
    return search.count;
}
