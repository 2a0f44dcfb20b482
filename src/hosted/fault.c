/* SPDX-License-Identifier: MIT */
/* The host of copies and frames that survive faults, in a Linux process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/fault_host.h"

#include <carry/fault.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hosted/hosted_context.h"
#include "hosted/hosted_signals.h"

#define PAGE_BYTES UINT64_C(4096)

#ifndef SEGV_MTESERR /* C libraries before 2020 */
#define SEGV_MTESERR 9
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned carry_host_survives;

/* Lies in the static part of thread-local storage: a handler must not wait for its allocation. */
static _Thread_local struct carry_fault_frame *innermost __attribute__((tls_model("initial-exec")));

struct carry_fault_frame **carry_host_fault_frames(void) {
    return &innermost;
}

/* Checks whether the address is unknown: the CPU does not report addresses that are not
 * canonical. */
static bool is_no_address(const siginfo_t *info) {
    return info->si_code == SI_KERNEL;
}

/* Checks whether the whole page faults. If not, other bytes of it may be accessible, because their
 * tags match (MTE) or their addresses are aligned. */
static bool is_of_page(const siginfo_t *info) {
    return info->si_code != (info->si_signo == SIGBUS ? BUS_ADRALN : SEGV_MTESERR);
}

static uintptr_t faulting_page(const siginfo_t *info) {
    if (!is_of_page(info))
        return -(uintptr_t)PAGE_BYTES;
    return is_no_address(info) ? CARRY_NO_ADDRESS : (uintptr_t)info->si_addr & ~(PAGE_BYTES - 1);
}

static uintptr_t leave_frame(const siginfo_t *info, void *context, uintptr_t *value) {
    const void *address = is_no_address(info) ? NULL : info->si_addr;
    uintptr_t recovery = carry_fault_unwind(address, info->si_signo, value);
    if (recovery)
        carry_ucontext_leave_frame(context, value);
    return recovery;
}

static bool handle_fault(siginfo_t *info, void *context) {
    if (!carry_signal_is_fault(info))
        return false;
    uintptr_t value = faulting_page(info);
    uintptr_t recovery = carry_fault_find(*carry_ucontext_pc(context), &value);
    if (!recovery)
        recovery = leave_frame(info, context, &value);
    if (recovery)
        carry_ucontext_recover(context, recovery, value);
    return recovery != 0;
}

static const struct carry_signal segv = {SIGSEGV, handle_fault};
static const struct carry_signal bus = {SIGBUS, handle_fault};

static int install_handlers(void) {
    if (!carry_signal_install(&segv))
        return CARRY_ERROR_PERMISSION;
    if (carry_signal_install(&bus))
        return CARRY_OK;
    carry_signal_remove(&segv);
    return CARRY_ERROR_PERMISSION;
}

static unsigned users;

static void set_users(unsigned count) {
    const unsigned what = CARRY_HOST_FRAMES | (carry_ucontext_is_exact() ? CARRY_HOST_COPIES : 0);
    users = count;
    __atomic_store_n(&carry_host_survives, count ? what : 0, __ATOMIC_RELEASE);
}

static bool system_can_copy(void) {
    const unsigned char from = 1;
    unsigned char to;
    return !carry_host_copy(&to, &from, 1);
}

int carry_fault_acquire(void) {
    if (!carry_ucontext_can_recover())
        return system_can_copy() ? CARRY_ERROR_UNSUPPORTED : CARRY_ERROR_PERMISSION;
    pthread_mutex_lock(&mutex);
    int error =
        install_handlers(); /* at each call: other handlers may have been installed over these */
    if (!error)
        set_users(users + 1);
    pthread_mutex_unlock(&mutex);
    return error;
}

void carry_fault_release(void) {
    pthread_mutex_lock(&mutex);
    if (users == 1) {
        carry_signal_remove(&bus);
        carry_signal_remove(&segv);
    }
    if (users)
        set_users(users - 1);
    pthread_mutex_unlock(&mutex);
}

/* --- Without handlers --- */

#define PIECES 16

static size_t to_page_end(uintptr_t address) {
    return PAGE_BYTES - address % PAGE_BYTES;
}

/* Returns how many bytes lie in one page of the source and in one page of the target: all of them
 * are accessible, or none. */
static size_t piece_bytes(uintptr_t dst, uintptr_t src, size_t size) {
    size_t piece = to_page_end(dst) < to_page_end(src) ? to_page_end(dst) : to_page_end(src);
    return piece < size ? piece : size;
}

/*
 * Copies at most `most` pieces with one system call. Returns how many bytes it copied. The system
 * copies whole pieces or none, so the count is exact even if pages are unmapped during the call.
 */
static size_t copy_pieces(uintptr_t dst, uintptr_t src, size_t size, size_t most) {
    struct iovec to[PIECES], from[PIECES];
    size_t count = 0;
    for (size_t at = 0; at < size && count < most; count++) {
        const size_t piece = piece_bytes(dst + at, src + at, size - at);
        to[count] = (struct iovec){(void *)(dst + at), piece};
        from[count] = (struct iovec){(void *)(src + at), piece};
        at += piece;
    }
    ssize_t done = process_vm_readv(getpid(), to, count, from, count, 0);
    return done < 0 ? 0 : (size_t)done;
}

static int make_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

static int make_sockets(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static bool copy_through(int (*make)(int ends[2]), void *dst, const void *src, size_t size) {
    int ends[2];
    if (make(ends))
        return false;
    bool done =
        write(ends[1], src, size) == (ssize_t)size && read(ends[0], dst, size) == (ssize_t)size;
    int reason = errno;
    close(ends[0]);
    close(ends[1]);
    errno = reason;
    return done;
}

/* Copies a piece through a pipe or sockets, unless errno is EFAULT already: a filter or emulator
 * that refuses process_vm_readv() is unlikely to refuse these too. Returns how many bytes it
 * copied. */
static size_t copy_piece_otherwise(uintptr_t dst, uintptr_t src, size_t size) {
    static int (*const ways[])(int ends[2]) = {make_pipe, make_sockets};
    const size_t piece = piece_bytes(dst, src, size);
    bool done = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !done && errno != EFAULT; i++)
        done = copy_through(ways[i], (void *)dst, (const void *)src, piece);
    return done ? piece : 0;
}

/* Calls copy_piece_otherwise() with cancellation disabled: a cancelled thread would leave the pipe
 * or sockets open, and copies must not be cancellation points. Returns how many bytes it copied. */
static size_t copy_uncancelled(uintptr_t dst, uintptr_t src, size_t size) {
    int cancellation;
    int reason = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    errno = reason;
    size_t done = copy_piece_otherwise(dst, src, size);
    pthread_setcancelstate(cancellation, &cancellation);
    return done;
}

size_t carry_host_copy(void *dst, const void *src, size_t size) {
    int saved = errno;
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    size_t left = size, done = 1;
    while (left && done) {
        done = copy_pieces(to, from, left, PIECES);
        /* Tries a single piece: if a later one is outside the address space, the system copies
         * none. */
        if (!done && errno == EFAULT)
            done = copy_pieces(to, from, left, 1);
        if (!done)
            done = copy_uncancelled(to, from, left);
        to += done;
        from += done;
        left -= done;
    }
    errno = saved;
    return left;
}
