/* SPDX-License-Identifier: MIT */
/*
 * Broken twins of what patches: each is the right one with one fault, which the linker puts between
 * (--wrap) and `broken_patch` turns on.
 */
#ifndef CARRY_TESTS_BROKEN_PATCH_H
#define CARRY_TESTS_BROKEN_PATCH_H

enum broken_patch {
    BROKEN_PATCH_NOT,
    BROKEN_PATCH_CALL_NOP,    /* a direct call is two instructions: call, nop */
    BROKEN_PATCH_NO_GUARD,    /* bytes are written one after the other while threads run them */
    BROKEN_PATCH_TAIL_LAST,   /* the guard goes before what it guards is written */
    BROKEN_PATCH_LOST_SITES,  /* threads that run into a trap are not held */
    BROKEN_PATCH_NOT_WRITTEN, /* the text stays as it was */
};

extern enum broken_patch broken_patch;

#endif
