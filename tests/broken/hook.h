/* SPDX-License-Identifier: MIT */
/*
 * Broken twins of what hooks: each is the right one with one fault, which the linker puts between
 * (--wrap) and `broken_hook` turns on.
 */
#ifndef CARRY_TESTS_BROKEN_HOOK_H
#define CARRY_TESTS_BROKEN_HOOK_H

enum broken_hook {
    BROKEN_HOOK_NOT,
    BROKEN_HOOK_HIDDEN,      /* stubs lose rax, which says how many vectors are arguments, or x8 */
    BROKEN_HOOK_CHAIN,       /* stubs lose the static chain: r10 or x18 */
    BROKEN_HOOK_LEFT_BEHIND, /* a hook that goes leaves its stubs in the slots */
    BROKEN_HOOK_PAST_END,    /* what lies behind the end of a stack counts as readable */
    BROKEN_HOOK_NOT_QUIET,   /* several NOPs are rewritten while threads run */
};

extern enum broken_hook broken_hook;

#endif
