/* SPDX-License-Identifier: MIT */
/*
 * Mutants of patching: each is the right code with one fault. The linker inserts the code
 * (--wrap), and `broken_patch` enables the fault.
 */
#ifndef CARRY_TESTS_BROKEN_PATCH_H
#define CARRY_TESTS_BROKEN_PATCH_H

enum broken_patch {
    BROKEN_PATCH_NOT,
    BROKEN_PATCH_CALL_NOP,    /* a direct call is two instructions: call, nop */
    BROKEN_PATCH_NO_GUARD,    /* bytes are written one by one while threads run them */
    BROKEN_PATCH_TAIL_LAST,   /* the guard is removed before the bytes that it guards are written */
    BROKEN_PATCH_LOST_SITES,  /* threads that hit a trap are not held */
    BROKEN_PATCH_NOT_WRITTEN, /* the text is not changed */
};

extern enum broken_patch broken_patch;

#endif
