/* SPDX-License-Identifier: MIT */
/*
 * Replays another x86-64 CPU's extended state on this CPU.
 *
 *     if (!replay_choose(argv[1])) ...        // "Skylake-X"; before anything reads CPUID
 *     replay_start();
 *     carry_xstate_save(area, mask);          // behaves as on that CPU
 *     replay_stop();
 *
 * Between start and stop, the trap flag stops the thread before each instruction. A model of the
 * chosen machine executes CPUID, XGETBV, XSAVE, XSAVEC, XRSTOR, PUSHF and POPF, and also KXNORW and
 * KXORW if this CPU has no mask registers. The model has the components of that machine, at their
 * offsets (harness/machines.c), and tracks their use like its CPU (harness/xinuse.def). At random,
 * it puts components in use like other software. The real CPU executes all other instructions.
 *
 * Only for one thread at a time. Without a choice, start and stop do nothing.
 */
#ifndef CARRY_TESTS_REPLAY_H
#define CARRY_TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Chooses a machine of harness/machines.c, or this CPU for NULL, and makes the library detect the
 * features of that machine. Returns NULL, or the reason why this is impossible.
 */
const char *replay_choose(const char *machine);

bool replay_is_on(void);

void replay_start(void);
void replay_stop(void);

/*
 * Let the CPU execute everything itself between pause and resume. For C code before a load of all
 * registers: the load discards what the code puts in use.
 */
void replay_pause(void);
void replay_resume(void);

/* Counts some instructions since the last start. */
struct replay_counts {
    unsigned fldcw;
    unsigned areas; /* XSAVE, XSAVEC, XRSTOR */
};

struct replay_counts replay_counts(void);

/*
 * Returns whether to leave a combination out: a stop costs up to some 40 us, so checks of all
 * combinations try one of `share` at random.
 */
bool replay_leaves_out(size_t share);

#endif
