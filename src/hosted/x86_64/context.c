/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_context.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>

bool carry_ucontext_has_traps(void) {
    return true;
}

uintptr_t *carry_ucontext_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

void carry_ucontext_serialise(void) {
    uint32_t eax = 0;
    uint32_t ecx = 0;
    __asm__ __volatile__("cpuid" : "+a"(eax), "+c"(ecx) : : "ebx", "edx", "memory");
}

/* Checks whether an address can be read: passes it to rt_sigprocmask() as a set of signals, with an
 * invalid operation. The system reads the set before it rejects the operation. */
bool carry_ucontext_is_readable(uintptr_t address) {
    register uint64_t size __asm__("r10") = sizeof(uint64_t);
    long result = SYS_rt_sigprocmask;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(-1L), "S"(address), "d"(0L), "r"(size)
                     : "rcx", "r11", "memory");
    return result != -EFAULT;
}

void carry_ucontext_pause(void) {
    __builtin_ia32_pause();
}

bool carry_ucontext_can_recover(void) {
    return true;
}

/*
 * Checks for Valgrind by a request that only Valgrind answers: rotations of rdi by 128 bits in
 * total, which no compiler emits, then an exchange of rbx with itself. rax points to the number of
 * the request; rdx receives the answer, and keeps its value on a CPU ("Client Requests" in the
 * manual of Valgrind).
 */
static bool is_under_valgrind(void) {
    static const uint64_t running_on_valgrind[6] = {0x1001};
    uint64_t answer = 0;
    __asm__ __volatile__("rolq $3, %%rdi\n\t"
                         "rolq $13, %%rdi\n\t"
                         "rolq $61, %%rdi\n\t"
                         "rolq $51, %%rdi\n\t"
                         "xchgq %%rbx, %%rbx"
                         : "+d"(answer)
                         : "a"(running_on_valgrind)
                         : "cc", "memory");
    return answer;
}

bool carry_ucontext_is_exact(void) {
    return !is_under_valgrind();
}

/* Clears FXSAVE's tag word, which has a bit for each register in use (SDM vol. 1, 10.5.1.1). */
void carry_ucontext_leave_frame(void *context, uintptr_t *value) {
    (void)value;
    fpregset_t state = ((ucontext_t *)context)->uc_mcontext.fpregs;
    if (state)
        state->ftw = 0;
}

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RAX] = (greg_t)value;
    registers[REG_RIP] = (greg_t)recovery;
}
