/* SPDX-License-Identifier: MIT */
#include "harness/recover.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/fault_host.h"

#define PAGE_BYTES 4096

volatile unsigned recover_count;
volatile bool recover_tells_page = true;
volatile bool recover_opens_page;
static struct sigaction before[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static void on_fault(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t value = recover_tells_page ? page : -(uintptr_t)PAGE_BYTES;
    uintptr_t recovery = carry_fault_find((uintptr_t)registers[REG_RIP], &value);
    if (!recovery) {
        sigaction(signal, &before[signal == SIGBUS], NULL); /* it will fault again */
        return;
    }
    recover_count++;
    registers[REG_RIP] = (greg_t)recovery;
    if (recover_opens_page)
        mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE);
    registers[REG_RAX] = (greg_t)value;
}

void recover_begin(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &action, &before[i]);
}

void recover_end(void) {
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &before[i], NULL);
}
