/* SPDX-License-Identifier: MIT */
/*
 * Text to time: a loop around calls or branches of one form, made at run time, so that all forms
 * stand at the same addresses within their pages and lines, and differ in nothing but themselves.
 * Sites in it have records like those that compilers make, and are registered.
 */
#ifndef CARRY_TOOLS_BENCH_PATCH_TEXT_H
#define CARRY_TOOLS_BENCH_PATCH_TEXT_H

#include <carry/patch.h>

enum patch_form {
    FORM_INLINED, /* the callee's instructions; of branches: none */
    FORM_DIRECT,  /* a call with an offset */
    FORM_POINTER, /* a call through a pointer in memory */
    FORM_PLT,     /* call of a jump through a pointer: what PLTs, when bound, and ifuncs are */
    FORM_PATCHED_CALL,
    FORM_PATCHED_INLINE,
    FORM_PATCHED_NOP,
    /*
     * A call of a thunk that returns to the callee, of x86-64 alone. Behind all other calls, as the
     * form that is timed next is slowed down now and then: a patched call by 3 to 10 % (Zen 5).
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
    bool eight;    /* the callee has eight instructions and not one */
    bool spread;   /* each site has a cache line of its own ... */
    bool separate; /* ... and so have its callee, and its pointer, flag or key */
};

struct patch_text {
    void (*run)(size_t passes); /* each through all sites */
    struct patch_shape shape;
    struct patch_line *lines; /* pointers, flags and keys */
    size_t line_count;
    uintptr_t callees;
    const struct carry_site *records;
    size_t record_count; /* 0: nothing to patch */
    void *memory;
    size_t bytes;
};

/* All other forms are calls. */
static inline bool patch_form_is_branch(enum patch_form form) {
    return form >= FORM_FLAG;
}

/* Whether there is anything to make on this architecture, and whether it has a form. */
bool patch_text_supported(void);
bool patch_text_has(enum patch_form form);

/* Makes the text and registers its sites; false, with errno, if the system does not let it. */
bool patch_text_make(struct patch_text *text, const struct patch_shape *shape);
void patch_text_release(struct patch_text *text);

/*
 * Notes the change of all sites to one of two states: of calls, that callee (the registered body
 * of an inlined one is that of state 0); of branches, off and on.
 */
void patch_text_set(const struct patch_text *text, struct carry_patch *patch, unsigned state);

/* Commits all sites of a text to one of their states. Returns nanoseconds; negative if it fails. */
double commit_time(const struct patch_text *text, unsigned state);

#endif
