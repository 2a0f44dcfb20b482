/* SPDX-License-Identifier: MIT */
/*
 * The interface to the host's fault handler. After a fault in a copy, or in code inside a frame,
 * the handler looks up where execution continues. In a process, it is the handler of SIGSEGV and
 * SIGBUS (src/hosted/fault.c); in an operating-system kernel, the page-fault handler.
 */
#ifndef CARRY_BASE_FAULT_HOST_H
#define CARRY_BASE_FAULT_HOST_H

#include <carry/base.h>

/*
 * The lowest address of x86-64 that is not canonical with page tables of four levels. An access to
 * an address that is not canonical raises #GP, which does not report the address. A process has
 * nothing mapped directly below these addresses, with page tables of four or of five levels. So a
 * copy accesses them only if it starts there: otherwise it faults below them. AArch64 reports every
 * address.
 */
#define CARRY_NO_ADDRESS ((uintptr_t)(UINT64_C(1) << 47))

/*
 * Returns the address at which execution continues after a fault of the instruction at
 * `instruction`, or 0 if that instruction is not part of the library's copies. Fault handlers call
 * this function. On entry *value is the start of the page that could not be accessed (see
 * base/fault_asm.h), on return the new value of rax, or on AArch64 of x16. Takes no lock, and reads
 * only the table.
 */
uintptr_t carry_fault_find(uintptr_t instruction, uintptr_t *value);

struct carry_fault_frame;

/*
 * Returns the address of the host's pointer to the innermost frame of this thread
 * (carry_fault_enter()). The pointer is NULL at first. Fault handlers call this function too. In an
 * operating-system kernel each interrupt counts as a thread: it starts with NULL. Otherwise a fault
 * in the interrupt would unwind to a frame of the interrupted code.
 */
struct carry_fault_frame **carry_host_fault_frames(void);

/*
 * Leaves the innermost frame of this thread, and stores `address` (NULL: not known) and `signal` in
 * it. Fault handlers call this function after carry_fault_find() returned 0. Returns the address at
 * which execution continues, with *value as the new value of rax, or on AArch64 of x16; or 0 if
 * there is no frame. The handler of an operating-system kernel restores other state that frames
 * rely on, such as EFLAGS.AC, or PSTATE.BTYPE, which must be 0: the faulting instruction may have
 * been the first one after an indirect branch. If SVCR.SM is set (SME), the handler adds 1 to
 * *value.
 */
uintptr_t carry_fault_unwind(const void *address, int signal, uintptr_t *value);

/*
 * The functions that the fault handler calls, as bits of carry_host_survives: COPIES for
 * carry_fault_find(), with all registers as they were at the fault, and FRAMES for
 * carry_fault_unwind(). The host sets carry_host_survives; copies and frames read it.
 */
enum carry_host_survival {
    CARRY_HOST_COPIES = 1,
    CARRY_HOST_FRAMES = 2,
};
extern unsigned carry_host_survives __attribute__((visibility("hidden")));

/* Returns whether the host handles faults of copies, or faults in frames. */
static inline bool carry_host_recovers(enum carry_host_survival what) {
    return __atomic_load_n(&carry_host_survives, __ATOMIC_ACQUIRE) & what;
}

/*
 * Copies with a system call that survives faults. Called if no handler handles faults of copies.
 * Returns how many bytes are left: `size` if there is no such call.
 */
size_t carry_host_copy(void *dst, const void *src, size_t size);

#endif
