/* SPDX-License-Identifier: MIT */
/* The instructions of the texts of bench/patch_text.h: what an architecture brings to them. */
#ifndef CARRY_TOOLS_BENCH_PATCH_CODE_H
#define CARRY_TOOLS_BENCH_PATCH_CODE_H

#include "bench/patch_text.h"

#define PATCH_LINE_BYTES ((size_t)64)

/* Offsets of the parts of a text, in bytes. */
struct patch_layout {
    size_t stubs, loop, callees, lines, records, end;
};

/* A text that is being made. */
struct patch_maker {
    struct patch_shape shape;
    struct patch_layout layout;
    uint8_t *memory;
    size_t at; /* where the next instruction goes */
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

    /* By form, FORM_INLINED apart: puts a call, or a branch alone. NULL: the architecture has no
     * such form. */
    void (*put[FORM_COUNT])(struct patch_maker *maker, size_t index);
    void (*put_jump_back)(struct patch_maker *maker, size_t start); /* until all passes are done */

    struct patch_bytes enter; /* the loop, with the number of passes */
    struct patch_bytes leave;
    struct patch_bytes land; /* where a callee is called; may be empty */
    struct patch_bytes one, eight;
    struct patch_bytes ret;
    void (*fill)(uint8_t *bytes, size_t size); /* with NOPs */
};

/* Of this architecture. Without sites there are no forms. */
extern const struct patch_code patch_code;

/* --- What these functions use --- */

/* Where the site of this number has what it reads, calls or branches to. */
size_t patch_line_at(const struct patch_maker *maker, size_t index);
size_t patch_callee_at(const struct patch_maker *maker, size_t index);
size_t patch_stub_at(const struct patch_maker *maker, size_t index);

void patch_put(struct patch_maker *maker, const void *bytes, size_t size);

/* A record of what is put next, or of `site`. All count from the start of the memory. */
void patch_put_record(struct patch_maker *maker, struct carry_site record, size_t key, size_t aux);
void patch_put_record_of(struct patch_maker *maker, struct carry_site record, size_t site,
                         size_t key, size_t aux);

#endif
