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

/* Returns the contents of a register for a 32-bit argument; if `dirty`, its meaningless upper half
   is not zero. */
static uint64_t extend_argument(uint32_t value, bool dirty) {
    return dirty ? value | rng_next() << 32 | UINT64_C(1) << 32 : value;
}

uint32_t call_checked(carry_sum_fn *fn, const void *data, size_t size, uint32_t sum, bool dirty,
                      struct verdict *verdict) {
    const uint64_t words[] = {(uintptr_t)data, size, extend_argument(sum, dirty)};
    return (uint32_t)call_words((call_fn *)fn, words, 3, dirty, verdict);
}

uint32_t call_checked_sum_copy(carry_sum_copy_fn *fn, void *dst, const void *src, size_t size,
                               uint32_t sum, struct verdict *verdict) {
    const uint64_t words[] = {(uintptr_t)dst, (uintptr_t)src, size, extend_argument(sum, true)};
    return (uint32_t)call_words((call_fn *)fn, words, 4, true, verdict);
}

uint64_t call_checked_copy(carry_copy_fn *fn, void *dst, const void *src, size_t size,
                           struct verdict *verdict) {
    const uint64_t words[] = {(uintptr_t)dst, (uintptr_t)src, size};
    return call_words((call_fn *)fn, words, 3, true, verdict);
}
