/* SPDX-License-Identifier: MIT */
/* swapcontext() of the C library. */
#include <ucontext.h>

#include "peer.h"

static ucontext_t here, there;
static size_t switches;

static void count_switches(void) {
    for (;;) {
        switches++;
        swapcontext(&there, &here);
    }
}

static size_t switch_and_back(size_t calls) {
    switches = 0;
    for (; calls; calls--)
        swapcontext(&here, &there);
    return switches;
}

PEER_FUNCTION(row) = {"ucontext", "switch", "", PEER_LOOP, {.loop = switch_and_back}};

__attribute__((constructor)) static void prepare(void) {
    static unsigned char stack[16384];
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, count_switches, 0);
}
