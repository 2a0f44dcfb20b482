/* SPDX-License-Identifier: MIT */
/*
 * Copies and accesses that survive faults: memory that a peer may unmap, truncate or protect while
 * it is read, as kernels have copyin and copyout.
 *
 *     carry_fault_acquire();                              // once, in programs
 *     size_t left = carry_copy_try(packet, shared, size);
 *     if (left)
 *         drop("the peer took %zu bytes away", left);
 *
 * Contract:
 *  - A copy returns how many bytes are left, and that number is exact: all bytes of `dst` before
 *    those are copied, and those are untouched. This holds whatever becomes of the mappings during
 *    the call: pages may go and come back at any instruction, on either side.
 *  - Without such a race a copy ends at the first byte that cannot be reached. A page that comes
 *    back during the call may be copied or left.
 *  - Each byte is copied as it was at some time during the call.
 *  - A fault costs one signal, and nothing is paid where there is none. Where pages go or come back
 *    during the call it may cost more than one.
 *  - In a process, faults are handled by handlers of SIGSEGV and SIGBUS, which
 *    carry_fault_acquire() installs before those that are there: faults of other code are passed on
 *    to them. They run on the thread's alternate stack, if it has one. Any thread may be in a copy,
 *    signal handlers too, unless the thread blocks the signal: the system then ends the process. So
 *    handlers of these signals that copy, or enter frames, are installed with SA_NODEFER.
 *  - A handler that somebody installs later comes first, and is to pass on what is not its own; the
 *    next carry_fault_acquire() puts the library's before it again.
 *  - Without carry_fault_acquire(), on every architecture but x86-64, and under valgrind, which
 *    does not keep registers exact, copies survive by calls of the system: process_vm_readv(), or
 *    where that is refused a pipe or a pair of sockets. Each then costs half a microsecond or more.
 *  - Where a sandbox refuses all of these calls, nobody can say what is readable: such copies leave
 *    all bytes, readable or not. carry_copy_try() of one byte of your own shows whether that is so.
 *    With handlers no system call is needed.
 *  - In kernels, the handler of page faults asks carry_fault_find() and, for frames,
 *    carry_fault_unwind() of src/base/fault_host.h.
 *  - The ranges must not overlap.
 */
#ifndef CARRY_FAULT_H
#define CARRY_FAULT_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

/*
 * Installs the handlers, at the first call; each call needs one of carry_fault_release(), the last
 * of which puts back what was there, and comes when nobody is in a copy or frame. From any thread,
 * not from signal handlers. Returns 0, or
 *     CARRY_ERROR_UNSUPPORTED  there are no handlers on this architecture: copies survive by calls
 *                              of the system, frames are refused
 *     CARRY_ERROR_PERMISSION   the system refuses handlers; or, where there are none, those calls
 */
CARRY_API int carry_fault_acquire(void);
CARRY_API void carry_fault_release(void);

/*
 * Copies `size` bytes. Returns how many are left: 0 if all were copied. carry_sum_copy_try() of
 * <carry/sum.h> sums them too.
 */
CARRY_API size_t carry_copy_try(void *dst, const void *src, size_t size);

/*
 * Reads or writes 1, 2, 4 or 8 bytes by one access; `value` is memory of the caller's that does not
 * fault. Returns false if it could not, or for another size. Where the system copies (see above),
 * that is no single access, and a write over the end of a page may remain in part if both pages
 * go during the call.
 */
CARRY_API bool carry_read_try(void *value, const void *src, size_t size);
CARRY_API bool carry_write_try(void *dst, const void *value, size_t size);

/*
 * The 8 bytes at `src`, in memory order, for parsers that read words at the end of a buffer: those
 * that lie beyond the end of what is mapped are zeros. The first one must be readable.
 */
CARRY_API uint64_t carry_load_zeropad(const void *src);

/*
 * Any code that may fault, run inside a frame:
 *
 *     struct carry_fault_frame frame;
 *     int faulted = carry_fault_enter(&frame);
 *     if (faulted == 0) {
 *         parse(shared);
 *         carry_fault_leave(&frame);
 *     } else if (faulted > 0) {
 *         complain(frame.address);
 *     }
 *
 * carry_fault_enter() returns 0, and a second time, with 1, if something faults before
 * carry_fault_leave(); the frame has then been left. As with setjmp(), variables that changed in
 * between are to be volatile, and the function that entered must not have returned. FCW and MXCSR
 * are as they were at the fault. Frames nest; each thread has its own. A signal handler that faults
 * in none of its own leaves that of what it interrupted: its signals stay blocked, as by longjmp().
 * Negative without carry_fault_acquire(), and on other architectures than x86-64; not for threads
 * that run with a shadow stack.
 */
struct carry_fault_frame {
    struct carry_fault_frame *outer;
    uintptr_t registers[8]; /* the library's */
    const void *address;    /* that could not be reached, if the system says */
    int signal;             /* SIGSEGV or SIGBUS; in kernels what their handler calls it */
};

CARRY_API int carry_fault_enter(struct carry_fault_frame *frame) __attribute__((returns_twice));
CARRY_API void carry_fault_leave(struct carry_fault_frame *frame);

CARRY_END_DECLS

#endif
