/* SPDX-License-Identifier: MIT */
/*
 * The imports of a loaded object, from its dynamic section. Nothing that an object says of itself
 * is believed: whatever lies outside its segments is not read, so that a damaged one has fewer
 * imports.
 *
 * Source: System V ABI (gABI), chapter 5, its AMD64 supplement, and that for AArch64; "Symbol
 * Versioning" in the Linux Standard Base, Core.
 */
#ifndef CARRY_HOOK_ELF_H
#define CARRY_HOOK_ELF_H

#include <carry/base.h>

struct carry_elf_table {
    uintptr_t address;
    size_t size; /* in bytes */
};

struct carry_elf {
    uintptr_t base;
    uintptr_t segments;
    size_t segment_count;
    struct carry_elf_table relocations[2]; /* of the PLT, and the others */
    struct carry_elf_table strings;
    struct carry_elf_table constant; /* whole pages that are read-only once relocated (RELRO) */
    uintptr_t symbols;
    uintptr_t versions;
    uintptr_t needed_versions;
    bool own_first; /* DT_SYMBOLIC */
};

/* What a relocation tells. */
struct carry_elf_import {
    uintptr_t *slot;
    uintptr_t value; /* of the slot, which may change at any time unless it is constant */
    const char *symbol;
    const char *version; /* "" if none */
    bool bound;          /* the value is the function; else it is what binds it at the first call */
    bool constant;       /* the slot is read-only */
    bool by_plt;         /* nothing but the PLT reads it */
    bool variant;        /* calls may pass other registers than those of most functions */
};

/* Where one is in the tables. */
struct carry_elf_cursor {
    size_t table;
    size_t index;
};

/* Reads the dynamic section of an object whose segments (Elf64_Phdr) these are. */
void carry_elf_open(struct carry_elf *elf, uintptr_t base, const void *segments, size_t count);

/* The next import of a function, from a cursor that starts as zero; false at the end. */
bool carry_elf_next(const struct carry_elf *elf, struct carry_elf_cursor *cursor,
                    struct carry_elf_import *import);

#endif
