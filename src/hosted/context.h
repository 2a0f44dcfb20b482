/* SPDX-License-Identifier: MIT */
/* What handlers of signals see and change of the thread they interrupted: by architecture. */
#ifndef CARRY_HOSTED_CONTEXT_H
#define CARRY_HOSTED_CONTEXT_H

#include <carry/base.h>

/* Where the context of a signal handler keeps the address of the next instruction, or NULL. */
uintptr_t *carry_ucontext_pc(void *context);

/* Can sites be held by traps? */
bool carry_ucontext_has_traps(void);

/* How far the program counter of a trap is behind the trap. */
#define CARRY_TRAP_BYTES 1
#define CARRY_TRAP       0xcc

/* Can the one below do what it says? */
bool carry_ucontext_can_recover(void);

/* Does the context of a fault hold all registers as they were then? Valgrind's does not. */
bool carry_ucontext_is_exact(void);

/* Lets the thread go on at `recovery`, with `value` in rax or x16: see base/fault_host.h. */
void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value);

/*
 * Before a frame goes on with *value: puts away what functions never return with, and the frame
 * does not know of. Empties the x87 stack; adds 1 to *value in streaming mode (base/fault_host.h).
 */
void carry_ucontext_leave_frame(void *context, uintptr_t *value);

/* Can the word at an address be read? By a system call that no hook of calls sees. */
bool carry_ucontext_is_readable(uintptr_t address);

/* In a loop that waits for another core. */
void carry_ucontext_pause(void);

/* Makes this core fetch its next instructions anew. */
void carry_ucontext_serialise(void);

#endif
