/* SPDX-License-Identifier: MIT */
/* The functions that each architecture defines for the texts of bench/patch_text.h. */
#ifndef CARRY_TOOLS_BENCH_PATCH_CODE_H
#define CARRY_TOOLS_BENCH_PATCH_CODE_H

#include "bench/patch_text.h"

#define PATCH_LINE_BYTES ((size_t)64)

/* Offsets of the parts of a text, in bytes. */
struct patch_layout {
    size_t stubs, loop, callees, lines, records, end;
};

/* A text that is being written. */
struct patch_maker {
    struct patch_shape shape;
    struct patch_layout layout;
    uint8_t *memory;
    size_t at; /* offset of the next instruction */
    size_t line_count;
    size_t callee_count;
    size_t record_count;
};

struct patch_bytes {
    const uint8_t *bytes;
    size_t size;
};

#define PATCH_BYTES(array)                                                                         \
    { array, sizeof(array) }

struct patch_code {
    size_t instruction_align;

    /* Puts a call, or a branch, of each form except FORM_INLINED. NULL: the architecture lacks the
     * form. */
    void (*put[FORM_COUNT])(struct patch_maker *maker, size_t index);
    void (*put_jump_back)(struct patch_maker *maker,
                          size_t start); /* jumps while passes are left */

    struct patch_bytes enter; /* the start of the function, which gets the number of passes */
    struct patch_bytes leave;
    struct patch_bytes land; /* the landing pad of a callee; may be empty */
    struct patch_bytes one, eight;
    struct patch_bytes ret;
    void (*fill)(uint8_t *bytes, size_t size); /* with NOPs */
};

/* The code of this architecture. Without sites, it has no forms. */
extern const struct patch_code patch_code;

/* --- For the functions of struct patch_code --- */

/* Returns the offset of the line that a site reads, of its callee, or of its stub. */
size_t patch_line_at(const struct patch_maker *maker, size_t index);
size_t patch_callee_at(const struct patch_maker *maker, size_t index);
size_t patch_stub_at(const struct patch_maker *maker, size_t index);

void patch_put(struct patch_maker *maker, const void *bytes, size_t size);

/* Puts the record of the next instruction, or of `site`. Offsets count from the memory's start. */
void patch_put_record(struct patch_maker *maker, struct carry_site record, size_t key, size_t aux);
void patch_put_record_of(struct patch_maker *maker, struct carry_site record, size_t site,
                         size_t key, size_t aux);

#endif
