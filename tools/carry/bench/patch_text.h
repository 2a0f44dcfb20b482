/* SPDX-License-Identifier: MIT */
/*
 * Makes texts to time: loops around calls or branches of one form. The texts are made at run time,
 * so that all forms have the same addresses within pages and lines, and differ only in their calls
 * or branches. Sites have records like those that compilers make, and are registered.
 */
#ifndef CARRY_TOOLS_BENCH_PATCH_TEXT_H
#define CARRY_TOOLS_BENCH_PATCH_TEXT_H

#include <carry/patch.h>

enum patch_form {
    FORM_INLINED, /* the callee's instructions, without a call or a branch */
    FORM_DIRECT,  /* a call by an offset */
    FORM_POINTER, /* a call through a pointer in memory */
    FORM_PLT,     /* a call of a jump through a pointer, as in bound PLT entries and ifuncs */
    FORM_PATCHED_CALL,
    FORM_PATCHED_INLINE,
    FORM_PATCHED_NOP,
    /*
     * A call of a thunk that returns to the callee, on x86-64 only. It is the last form of a call,
     * as it sometimes slows down the form that is timed next: a patched call by 3 to 10 % (Zen 5).
     */
    FORM_RETPOLINE,
    FORM_FLAG,       /* a test of a flag in memory, and a jump that is not taken */
    FORM_BRANCH_OFF, /* carry_unlikely() of a key that is off */
    FORM_BRANCH_ON,
    FORM_COUNT,
};

struct patch_shape {
    enum patch_form form;
    size_t sites;
    bool eight;    /* the callee has eight instructions instead of one */
    bool spread;   /* each site has a cache line of its own */
    bool separate; /* each site has its own callee, and its own pointer, flag or key */
};

struct patch_text {
    void (*run)(size_t passes); /* each pass executes all sites */
    struct patch_shape shape;
    struct patch_line *lines; /* pointers, flags and keys */
    size_t line_count;
    uintptr_t callees;
    const struct carry_site *records;
    size_t record_count; /* 0: nothing to patch */
    void *memory;
    size_t bytes;
};

/* Returns whether a form is a branch; otherwise it is a call, or FORM_INLINED. */
static inline bool patch_form_is_branch(enum patch_form form) {
    return form >= FORM_FLAG;
}

/* Returns whether this architecture has any form, or whether it has `form`. */
bool patch_text_supported(void);
bool patch_text_has(enum patch_form form);

/* Makes a text and registers its sites. Returns false with errno set if the system refuses. */
bool patch_text_make(struct patch_text *text, const struct patch_shape *shape);
void patch_text_release(struct patch_text *text);

/* Adds a change of all sites to a transaction. `state` is 0 or 1. It selects the callee of calls (a
 * body replaces calls of callee 0), or means off and on. */
void patch_text_set(const struct patch_text *text, struct carry_patch *patch, unsigned state);

/* Commits a change of all sites to `state`. Returns its nanoseconds; negative if it fails. */
double commit_time(const struct patch_text *text, unsigned state);

#endif
