/* SPDX-License-Identifier: MIT */
#include "harness/call_stack.h"

#include <string.h>

#include "harness/call.h"
#include "harness/rng.h"

#define CANARY_BYTES 512

static struct stack {
    unsigned char below[CANARY_BYTES];
    unsigned char usable[CALL_STACK_BYTES];
    unsigned char above[CANARY_BYTES];
} __attribute__((aligned(64))) stack, pristine;

unsigned char *call_stack_top(void) {
    static bool filled;
    if (!filled) {
        rng_fill(&pristine, sizeof pristine);
        stack = pristine;
        filled = true;
    }
    return stack.above;
}

void call_stack_judge(struct verdict *verdict) {
    bool above = memcmp(stack.above, pristine.above, sizeof stack.above) != 0;
    bool below = memcmp(stack.below, pristine.below, sizeof stack.below) != 0;
    if (above)
        verdict_fail(verdict, "writes to its caller's stack frame; ");
    if (below)
        verdict_fail(verdict, "writes more than %d bytes below the stack pointer; ",
                     CALL_STACK_BYTES);
    if (above || below)
        stack = pristine;
}

uint64_t call_extend(uint32_t value, bool dirty) {
    return dirty ? value | rng_next() << 32 | UINT64_C(1) << 32 : value;
}
