/* SPDX-License-Identifier: MIT */
/*
 * Copies and accesses that survive faults, for memory that a peer may unmap, truncate or protect
 * during the access. In operating-system kernels, copyin and copyout do this.
 *
 *     carry_fault_acquire();                              // once, in programs
 *     size_t left = carry_copy_try(packet, shared, size);
 *     if (left)
 *         drop("the peer took %zu bytes away", left);
 *
 * Contract:
 *  - A copy returns how many bytes are left, and the number is exact: in `dst`, all bytes before
 *    the remaining bytes are copied, and the remaining bytes are untouched. This holds whatever
 *    happens to the mappings during the call: pages may vanish and return at any instruction, on
 *    either side.
 *  - Without such a race, a copy ends at the first byte that cannot be accessed. A page that
 *    returns during the call may be copied or left.
 *  - Each byte is copied with a value that it had at some time during the call.
 *  - A fault costs one signal. If pages vanish or return during the call, the cost may be more than
 *    one. Without a fault a copy costs what carry_copy() costs; on x86-64 large copies cost more:
 *    `rep movsb` does not keep this contract.
 *  - In a process, handlers of SIGSEGV and SIGBUS handle the faults. carry_fault_acquire() installs
 *    them before the present handlers, and they pass on faults of other code to those handlers.
 *    The library's handlers run on the thread's alternate stack, if it has one.
 *  - Any thread may copy, in signal handlers too, unless it blocks the signal that a fault raises:
 *    the system then ends the process. So handlers of SIGSEGV or SIGBUS that copy, or enter frames,
 *    must be installed with SA_NODEFER.
 *  - A handler that other code installs later runs first, and must pass on signals that are not its
 *    own. The next carry_fault_acquire() puts the library's handler before it again.
 *  - Copies survive through system calls in three cases: without carry_fault_acquire(), on every
 *    architecture except x86-64 and AArch64, and under valgrind, which does not keep registers
 *    exact. The system call is process_vm_readv(). If the system refuses it, bytes are copied
 *    through a pipe or a pair of sockets. Each copy then costs half a microsecond or more.
 *  - On AArch64 addresses may have a tag in their top byte. Bytes whose memory has another tag
 *    (MTE) end a copy as bytes of inaccessible pages do, if the CPU checks tags synchronously. The
 *    copy may then have written up to 31 bytes after the first of them. System calls refuse
 *    addresses with tags unless the process has asked for them (PR_SET_TAGGED_ADDR_CTRL).
 *  - If a sandbox refuses all of these system calls, copies without handlers cannot know what is
 *    readable: they leave all bytes. To detect this, call carry_copy_try() for one byte of your
 *    own. With handlers no system call is needed.
 *  - In operating-system kernels, the handler of page faults calls carry_fault_find() and, for
 *    frames, carry_fault_unwind() of src/base/fault_host.h. A kernel with an exception table of its
 *    own, such as Linux, needs neither: its port writes into that table.
 *  - The ranges must not overlap.
 */
#ifndef CARRY_FAULT_H
#define CARRY_FAULT_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

/*
 * Enables recovery from faults, and disables it again. The first call installs the handlers. Each
 * call that returns 0 needs one call of carry_fault_release(), and no other call does. The last
 * release restores the previous handlers, unless other code has installed its own over them: the
 * library's then remain, and pass all signals on. No code may be in a copy or frame at the last
 * release. Both functions may be called from any thread, never from signal handlers. Returns 0, or
 *  CARRY_ERROR_UNSUPPORTED  there are no handlers on this architecture: copies survive through
 *                           system calls, frames are refused
 *  CARRY_ERROR_PERMISSION   the system refuses the handlers; all levels of handlers are in use;
 *                           or, on an architecture without handlers, the system refuses those
 *                           system calls
 */
CARRY_API int carry_fault_acquire(void);
CARRY_API void carry_fault_release(void);

/*
 * Copies `size` bytes. Returns how many are left: 0 if all were copied. carry_sum_copy_try() of
 * <carry/sum.h> also sums the copied bytes.
 */
CARRY_API size_t carry_copy_try(void *dst, const void *src, size_t size);

/*
 * Reads or writes 1, 2, 4 or 8 bytes in one access; `value` must be memory of the caller that does
 * not fault. Returns false if the access failed, or for any other size. If a system call copies
 * (see above), and on AArch64 if the address is not a multiple of the size, this is not a single
 * access, and a write across the end of a page may remain incomplete if a page vanishes during the
 * call.
 */
CARRY_API bool carry_read_try(void *value, const void *src, size_t size);
CARRY_API bool carry_write_try(void *dst, const void *value, size_t size);

/*
 * Returns the 8 bytes at `src`, in memory order, for parsers that read words at the end of a
 * buffer. Bytes beyond the end of mapped memory are zeros. The first byte must be readable. Where
 * copies leave all bytes (see the sandbox above), readable bytes near the end of a page are zeros
 * too.
 */
CARRY_API uint64_t carry_load_zeropad(const void *src);

/* The number of registers that functions keep for their callers. On AArch64: x19 to x30, sp, and d8
 * to d15. */
#ifdef __aarch64__
#define CARRY_FAULT_REGISTERS 21
#else
#define CARRY_FAULT_REGISTERS 8
#endif

/* A frame: see carry_fault_enter(). */
struct carry_fault_frame {
    struct carry_fault_frame *outer;
    uintptr_t registers[CARRY_FAULT_REGISTERS]; /* private to the library */
    const void *address; /* where the access failed, without its tag; NULL: not reported */
    int signal;          /* SIGSEGV or SIGBUS; operating-system kernels pass their own value */
};

/*
 * Begins and ends a frame, inside which any code may fault:
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
 * carry_fault_enter() returns 0. It returns a second time, with 1, if something faults before
 * carry_fault_leave(); the frame has then been left. As with setjmp(), variables that changed in
 * between must be volatile, and the function that entered must not have returned. FCW and MXCSR,
 * or FPCR, are as they were at the fault. Frames nest; each thread has its own frames.
 *
 * A signal handler that faults outside frames of its own leaves the frame of the interrupted code:
 * the handler's signals stay blocked, as after longjmp().
 *
 * carry_fault_enter() returns a negative error without carry_fault_acquire(), and on every
 * architecture except x86-64 and AArch64. Threads that run with a shadow stack, or a guarded
 * control stack, must not enter frames. If code faults in streaming mode (SME), the frame leaves
 * that mode; ZA stays as it was at the fault.
 */
CARRY_API int carry_fault_enter(struct carry_fault_frame *frame) __attribute__((returns_twice));
CARRY_API void carry_fault_leave(struct carry_fault_frame *frame);

CARRY_END_DECLS

#endif
