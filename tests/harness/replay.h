/* SPDX-License-Identifier: MIT */
/*
 * Another x86-64 CPU's extended state, replayed where that CPU is not at hand.
 *
 *     if (!replay_choose(argv[1])) ...        // "Skylake-X"; before anything asks CPUID
 *     replay_start();
 *     carry_xstate_save(area, mask);          // answers as that CPU would
 *     replay_stop();
 *
 * In between the trap flag stops the thread before each instruction. CPUID, XGETBV, XSAVE, XSAVEC
 * and XRSTOR are then executed by a model of the chosen machine: with its components, each at its
 * place (harness/machines.c), with use as that CPU counts it (harness/xinuse.def), and with
 * components that others put in use at random. All else the CPU executes itself.
 *
 * One thread at a time. Without a choice both do nothing.
 */
#ifndef CARRY_TESTS_REPLAY_H
#define CARRY_TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

/* Chooses a machine of harness/machines.c, and has the library know this CPU by its answers; NULL
 * for this CPU. Returns NULL, or why that cannot be. */
const char *replay_choose(const char *machine);

bool replay_is_on(void);

void replay_start(void);
void replay_stop(void);

/*
 * Between both calls, the CPU executes everything itself. For C code behind which all registers are
 * loaded anew: what the code puts in use is then forgotten.
 */
void replay_pause(void);
void replay_resume(void);

/* How often some instructions have been executed since the last start. */
struct replay_counts {
    unsigned fldcw;
    unsigned areas; /* XSAVE, XSAVEC, XRSTOR */
};

struct replay_counts replay_counts(void);

/* A stop takes up to some 40 us, so checks that try all combinations try one of `share` at random.
 */
bool replay_leaves_out(size_t share);

#endif
