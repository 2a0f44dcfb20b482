/* SPDX-License-Identifier: MIT */
/* Switches contexts by the functions that Boost.Context exports to C. Its fibers and continuations
 * are based on them. */
#include "peer.h"

typedef void *fcontext_t;

struct transfer {
    fcontext_t from;
    void *data;
};

struct transfer jump_fcontext(fcontext_t to, void *data);
fcontext_t make_fcontext(void *stack_top, size_t size, void (*entry)(struct transfer));

static size_t switches;
static fcontext_t there;

static void count_switches(struct transfer transfer) {
    for (;;) {
        switches++;
        transfer = jump_fcontext(transfer.from, NULL);
    }
}

static size_t switch_and_back(size_t calls) {
    switches = 0;
    for (; calls; calls--)
        there = jump_fcontext(there, NULL).from;
    return switches;
}

PEER_FUNCTION(row) = {"boost-context", "switch", "", PEER_LOOP, {.loop = switch_and_back}};

__attribute__((constructor)) static void prepare(void) {
    static unsigned char stack[16384];
    there = make_fcontext(stack + sizeof stack, sizeof stack, count_switches);
}
