/* SPDX-License-Identifier: MIT */
/* How signal handlers read and change the interrupted thread, for each architecture. */
#ifndef CARRY_HOSTED_CONTEXT_H
#define CARRY_HOSTED_CONTEXT_H

#include <carry/base.h>

/* Returns where the context of a signal handler keeps the program counter, or NULL. */
uintptr_t *carry_ucontext_pc(void *context);

/* Returns whether traps can guard sites. */
bool carry_ucontext_has_traps(void);

/* A trap, as bytes. The program counter in the context of its signal is the address after it. */
#define CARRY_TRAP_BYTES 1
#define CARRY_TRAP       0xcc

/* Returns whether carry_ucontext_recover() works in this process. */
bool carry_ucontext_can_recover(void);

/* Returns whether a context contains all registers as they were at the fault. Under Valgrind it
 * does not. */
bool carry_ucontext_is_exact(void);

/* Lets the thread continue at `recovery`, with `value` in rax or x16: see base/fault_host.h. */
void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value);

/*
 * Resets state that a function must not return with, and that a frame does not restore when it
 * continues with *value: empties the x87 stack, and adds 1 to *value in streaming mode
 * (base/fault_host.h).
 */
void carry_ucontext_leave_frame(void *context, uintptr_t *value);

/* Checks whether the word at an address can be read, with a system call that cannot be hooked. */
bool carry_ucontext_is_readable(uintptr_t address);

/* Pauses in a loop that waits for another core. */
void carry_ucontext_pause(void);

/* Makes this core fetch its next instructions anew. */
void carry_ucontext_serialise(void);

#endif
