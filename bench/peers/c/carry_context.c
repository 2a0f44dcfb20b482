/* SPDX-License-Identifier: MIT */
/* Context switches of this library. */
#include "peer.h"

#include <carry/carry.h>

static struct carry_context here, there;
static size_t switches;

static struct carry_context *count_switches(void *argument, uintptr_t value) {
    (void)argument, (void)value;
    for (;;) {
        switches++;
        carry_context_switch(&there, &here, 0);
    }
}

static size_t switch_and_back(size_t calls) {
    switches = 0;
    for (; calls; calls--)
        carry_context_switch(&here, &there, 0);
    return switches;
}

PEER_FUNCTION(row) = {"carry-context", "switch", "", PEER_LOOP, {.loop = switch_and_back}};

__attribute__((constructor)) static void prepare(void) {
    static unsigned char stack[16384];
    carry_context_adopt(&here, NULL, 0);
    carry_context_create(&there, stack, sizeof stack, count_switches, NULL);
}
