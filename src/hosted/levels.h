/* SPDX-License-Identifier: MIT */
/*
 * The functions that the system calls for a signal, one for each level of hosted_signals.c. A mark
 * before each function lets copies of the library in one process recognise each other's functions.
 */
#ifndef CARRY_HOSTED_LEVELS_H
#define CARRY_HOSTED_LEVELS_H

#define CARRY_SIGNAL_LEVELS 4

/*
 * "carrysg1". Copies may belong to different releases, so a change of the mark, the links or their
 * order must change the last byte: a copy ignores marks that it does not know.
 */
#define CARRY_SIGNAL_MAGIC 0x3167737972726163

/* The alignment of a mark. It keeps the mark in the page of the function that follows. */
#define CARRY_SIGNAL_ALIGNMENT 64

#ifndef __ASSEMBLER__

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Emulators call handlers with a stack that is less aligned than the ABI demands. */
#if defined(__has_attribute) && __has_attribute(force_align_arg_pointer)
#define CARRY_SIGNAL_ENTRY __attribute__((force_align_arg_pointer))
#else
#define CARRY_SIGNAL_ENTRY
#endif

/* The actions that a level found installed, for SIGTRAP, SIGSEGV and SIGBUS. */
struct carry_signal_link {
    struct sigaction previous[3];
};

extern struct carry_signal_link carry_signal_links[CARRY_SIGNAL_LEVELS];

struct carry_signal_mark {
    uint64_t magic;
    int32_t links; /* the distance from this word to the copy's carry_signal_links */
    uint32_t level;
};

typedef void carry_signal_level_fn(int number, siginfo_t *info, void *context);

carry_signal_level_fn carry_signal_level_0, carry_signal_level_1;
carry_signal_level_fn carry_signal_level_2, carry_signal_level_3;

/* Handles a signal; each level's function calls this. */
void carry_signal_handle(int number, siginfo_t *info, void *context, unsigned level);

/* Returns the mark before a handler of any copy, or NULL if there is none. */
const struct carry_signal_mark *carry_signal_mark_of(uintptr_t handler);

#endif
#endif
