/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_context.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* Returns false: traps would gain nothing. The architecture allows replacing a trap only by
 * instructions that may replace the site itself. */
bool carry_ucontext_has_traps(void) {
    return false;
}

uintptr_t *carry_ucontext_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.pc;
}

void carry_ucontext_serialise(void) {
    __asm__ __volatile__("isb" : : : "memory");
}

/* Checks whether an address can be read: passes it to rt_sigprocmask() as a set of signals, with an
 * invalid operation. The system reads the set before it rejects the operation. */
bool carry_ucontext_is_readable(uintptr_t address) {
    register uint64_t how __asm__("x0") = UINT64_MAX;
    register uint64_t set __asm__("x1") = address;
    register uint64_t old __asm__("x2") = 0;
    register uint64_t size __asm__("x3") = sizeof(uint64_t);
    register uint64_t number __asm__("x8") = SYS_rt_sigprocmask;
    __asm__ volatile("svc #0" : "+r"(how) : "r"(set), "r"(old), "r"(size), "r"(number) : "memory");
    return (int64_t)how != -EFAULT;
}

void carry_ucontext_pause(void) {
    __asm__ __volatile__("yield");
}
