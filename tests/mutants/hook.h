/* SPDX-License-Identifier: MIT */
/*
 * Mutants of hooks: each is the right code with one fault. The linker inserts the code (--wrap),
 * and `broken_hook` enables the fault.
 */
#ifndef CARRY_TESTS_BROKEN_HOOK_H
#define CARRY_TESTS_BROKEN_HOOK_H

enum broken_hook {
    BROKEN_HOOK_NOT,
    BROKEN_HOOK_HIDDEN,      /* stubs lose rax, or x8 on AArch64 */
    BROKEN_HOOK_CHAIN,       /* stubs lose the static chain: r10, or x18 on AArch64 */
    BROKEN_HOOK_LEFT_BEHIND, /* a detached hook leaves its stubs in the slots */
    BROKEN_HOOK_PAST_END,    /* every address counts as readable */
    BROKEN_HOOK_NOT_QUIET,   /* several NOPs are replaced while threads run */
};

extern enum broken_hook broken_hook;

#endif
