/* SPDX-License-Identifier: MIT */
#include "harness/recover.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/fault_host.h"

#define PAGE_BYTES 4096

volatile unsigned recover_count, recover_parts;
volatile bool recover_tells_page = true;
volatile bool recover_opens_page;
static struct sigaction before[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static void on_fault(int signal, siginfo_t *info, void *context) {
    const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t value = recover_tells_page ? page : -(uintptr_t)PAGE_BYTES;
    uintptr_t recovery = carry_fault_find(*recover_pc(context), &value);
    if (!recovery) {
        sigaction(signal, &before[signal == SIGBUS],
                  NULL); /* the instruction faults again, for the previous handler */
        return;
    }
    recover_count++;
    recover_parts += recover_stores_in_part(context, page);
    *recover_pc(context) = recovery;
    if (recover_opens_page)
        mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE);
    *recover_value(context) = value;
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
