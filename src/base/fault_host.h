/* SPDX-License-Identifier: MIT */
/*
 * How faults of copies, and of code in frames, are survived: the host handles them, and looks up
 * where to go on. A process does so in handlers of SIGSEGV and SIGBUS (src/hosted/fault.c), a
 * kernel in its handler of page faults.
 */
#ifndef CARRY_BASE_FAULT_HOST_H
#define CARRY_BASE_FAULT_HOST_H

#include <carry/base.h>

/*
 * The lowest address of x86-64 that is none (not canonical). The CPU does not say which one it was:
 * it raises #GP. Below it, or where page tables of five levels end, nothing is mapped in a process,
 * so a copy that meets such addresses starts there or ends before.
 */
#define CARRY_NO_ADDRESS ((uintptr_t)(UINT64_C(1) << 47))

/*
 * Where to go on after a fault of the instruction at `instruction`, with rax = *value; 0 if that is
 * none of the library's, so a fault like any other. *value is the page that could not be reached,
 * as base/fault.h tells, and becomes what rax is to be. For fault handlers: takes no lock, and
 * reads nothing but the table.
 */
uintptr_t carry_fault_find(uintptr_t instruction, uintptr_t *value);

struct carry_fault_frame;

/*
 * Where the host keeps the innermost frame of this thread (carry_fault_enter()), NULL at first.
 * Handlers of faults ask too. In a kernel each interrupt is a thread of its own: it starts with
 * none, or a fault of it would end in a frame of what it has interrupted.
 */
struct carry_fault_frame **carry_host_fault_frames(void);

/*
 * For a fault of an instruction that is none of the library's: leaves the innermost frame of this
 * thread, which is told `address` (NULL if the CPU does not say) and `signal`. Returns where to go
 * on, with rax = *value; 0 if there is no frame. What else a kernel has for frames to go back to,
 * as the leave to reach user pages (EFLAGS.AC), its handler sets.
 */
uintptr_t carry_fault_unwind(const void *address, int signal, uintptr_t *value);

/*
 * What handlers of faults there are: those that ask carry_fault_find(), with all registers as they
 * were at the fault, and those that ask carry_fault_unwind(). The host says so; copies and frames
 * look.
 */
enum carry_host_survival {
    CARRY_HOST_COPIES = 1,
    CARRY_HOST_FRAMES = 2,
};
extern unsigned carry_host_survives __attribute__((visibility("hidden")));

/* Do faults of what reach one? */
static inline bool carry_host_recovers(enum carry_host_survival what) {
    return __atomic_load_n(&carry_host_survives, __ATOMIC_ACQUIRE) & what;
}

/*
 * Where they do not: copies what can be copied, by a call of the system that survives faults by
 * itself, and returns how many bytes are left.
 */
size_t carry_host_copy(void *dst, const void *src, size_t size);

#endif
