/* SPDX-License-Identifier: MIT */
/* The host of copies that survive faults, in a Linux process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/fault_host.h"

#include <carry/fault.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hosted/context.h"
#include "hosted/signals.h"

#define PAGE_BYTES UINT64_C(4096)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned carry_host_recoverers;

/* In the static part of the thread's storage: a handler must not wait for it to be allocated. */
static _Thread_local struct carry_fault_frame *innermost __attribute__((tls_model("initial-exec")));

struct carry_fault_frame **carry_host_fault_frames(void) {
    return &innermost;
}

/* The system does not say an address if the CPU does not: when it is none. */
static bool is_no_address(const siginfo_t *info) {
    return info->si_code == SI_KERNEL;
}

static uintptr_t faulting_page(const siginfo_t *info) {
    return is_no_address(info) ? CARRY_NO_ADDRESS : (uintptr_t)info->si_addr & ~(PAGE_BYTES - 1);
}

static uintptr_t leave_frame(const siginfo_t *info, void *context, uintptr_t *value) {
    const void *address = is_no_address(info) ? NULL : info->si_addr;
    uintptr_t recovery = carry_fault_unwind(address, info->si_signo, value);
    if (recovery)
        carry_ucontext_empty_x87(context);
    return recovery;
}

static bool handle_fault(siginfo_t *info, void *context) {
    if (!carry_signal_is_fault(info))
        return false;
    uintptr_t recovery = carry_fault_find(*carry_ucontext_pc(context));
    uintptr_t value = faulting_page(info);
    if (!recovery)
        recovery = leave_frame(info, context, &value);
    if (recovery)
        carry_ucontext_recover(context, recovery, value);
    return recovery != 0;
}

static const struct carry_signal segv = {SIGSEGV, handle_fault};
static const struct carry_signal bus = {SIGBUS, handle_fault};

static int install(void) {
    if (!carry_signal_install(&segv))
        return CARRY_ERROR_PERMISSION;
    if (carry_signal_install(&bus))
        return CARRY_OK;
    carry_signal_remove(&segv);
    return CARRY_ERROR_PERMISSION;
}

int carry_fault_acquire(void) {
    if (!carry_ucontext_can_recover())
        return CARRY_ERROR_UNSUPPORTED;
    pthread_mutex_lock(&mutex);
    int error = install(); /* again, in case that others came before it */
    if (!error)
        __atomic_fetch_add(&carry_host_recoverers, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    return error;
}

void carry_fault_release(void) {
    pthread_mutex_lock(&mutex);
    if (carry_host_recoverers && !__atomic_sub_fetch(&carry_host_recoverers, 1, __ATOMIC_RELEASE)) {
        carry_signal_remove(&bus);
        carry_signal_remove(&segv);
    }
    pthread_mutex_unlock(&mutex);
}

/* --- Without handlers --- */

static size_t to_page_end(const void *address) {
    return PAGE_BYTES - (uintptr_t)address % PAGE_BYTES;
}

/* How much lies in one page on both sides: all of it can be reached, or none. */
static size_t piece_bytes(const void *dst, const void *src, size_t size) {
    size_t piece = to_page_end(dst) < to_page_end(src) ? to_page_end(dst) : to_page_end(src);
    return piece < size ? piece : size;
}

static size_t copy_in_one_call(void *dst, const void *src, size_t size) {
    const struct iovec to = {dst, size};
    const struct iovec from = {(void *)src, size};
    ssize_t done = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return done < 0 ? 0 : (size_t)done;
}

static bool copy_by_new_pipe(void *dst, const void *src, size_t size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    bool done =
        write(ends[1], src, size) == (ssize_t)size && read(ends[0], dst, size) == (ssize_t)size;
    close(ends[0]);
    close(ends[1]);
    return done;
}

/*
 * Filters and emulators may refuse that call, but hardly a pipe. Nobody takes a copy for a point of
 * cancellation, which would leave the pipe open, too.
 */
static bool copy_by_pipe(void *dst, const void *src, size_t size) {
    int cancellation;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    bool done = copy_by_new_pipe(dst, src, size);
    pthread_setcancelstate(cancellation, &cancellation);
    return done;
}

static bool copy_piece(void *dst, const void *src, size_t size) {
    return copy_in_one_call(dst, src, size) == size ||
           (errno != EFAULT && copy_by_pipe(dst, src, size));
}

size_t carry_host_copy(void *dst, const void *src, size_t size) {
    int saved = errno;
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t left = size && copy_in_one_call(to, from, size) == size ? 0 : size;
    /* The system promises no more than whole ranges: page by page the count is exact. */
    while (left) {
        size_t piece = piece_bytes(to, from, left);
        if (!copy_piece(to, from, piece))
            break;
        to += piece;
        from += piece;
        left -= piece;
    }
    errno = saved;
    return left;
}
