/* SPDX-License-Identifier: MIT */
/*
 * How faults of copies are survived: the host handles them, and looks up where to go on. A process
 * does so in handlers of SIGSEGV and SIGBUS (src/hosted/fault.c), a kernel in its handler of page
 * faults.
 */
#ifndef CARRY_BASE_FAULT_HOST_H
#define CARRY_BASE_FAULT_HOST_H

#include <carry/base.h>

/*
 * Where to go on after a fault of the instruction at `instruction`, with the start of the page that
 * could not be reached in rax; 0 if that is none of the library's, so a fault like any other. For
 * fault handlers: takes no lock, and reads nothing but the table.
 */
uintptr_t carry_fault_find(uintptr_t instruction);

/* Do faults reach a handler that asks carry_fault_find()? */
bool carry_host_recovers(void);

/*
 * Where they do not: copies what can be copied, by a call of the system that survives faults by
 * itself, and returns how many bytes are left.
 */
size_t carry_host_copy(void *dst, const void *src, size_t size);

#endif
