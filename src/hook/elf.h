/* SPDX-License-Identifier: MIT */
/*
 * The imports of a loaded object, from its dynamic section. The contents of an object are not
 * trusted: nothing outside its segments is read, so a damaged object merely has fewer imports.
 *
 * Source: System V ABI (gABI), chapter 5, and its supplements for AMD64 and AArch64; "Symbol
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
    struct carry_elf_table relocations[2]; /* DT_JMPREL (of the PLT), and DT_RELA */
    struct carry_elf_table strings;
    struct carry_elf_table constant; /* pages that are read-only once relocated (RELRO) */
    uintptr_t symbols;
    uintptr_t versions;
    uintptr_t needed_versions;
    bool own_first; /* DT_SYMBOLIC or DF_SYMBOLIC */
};

/* The import that a relocation describes. */
struct carry_elf_import {
    uintptr_t *slot;
    uintptr_t value; /* of the slot; may change at any time unless it is constant */
    const char *symbol;
    const char *version; /* "" if none */
    bool bound;          /* the value is the function, not code that binds the import */
    bool constant;       /* the slot is read-only */
    bool by_plt;         /* only the PLT reads the slot */
    bool variant;        /* calls may pass arguments in other registers than usual */
};

/* A position in the tables. */
struct carry_elf_cursor {
    size_t table;
    size_t index;
};

/* Reads the dynamic section of an object, given its `count` segments (Elf64_Phdr). */
void carry_elf_open(struct carry_elf *elf, uintptr_t base, const void *segments, size_t count);

/* Finds the next import of a function. The cursor starts as zero. Returns false at the end. */
bool carry_elf_next(const struct carry_elf *elf, struct carry_elf_cursor *cursor,
                    struct carry_elf_import *import);

#endif
