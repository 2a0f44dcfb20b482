/* SPDX-License-Identifier: MIT */
#include "harness/call.h"

#include "harness/call_aarch64.h"
#include "harness/call_stack.h"
#include "harness/rng.h"

struct frame {
    uint64_t arguments[3];
    uint64_t clobbered[14];
    uint64_t saved[11];
    uint64_t saved_d[8];
    unsigned char *stack;
    uint64_t after[11];
    uint64_t after_d[8];
    unsigned char *stack_after;
    uint64_t fpcr[2];
    uint64_t result;
    void *caller_stack;
    unsigned char garbage[24 * 16];
};

#define AT(field, offset) _Static_assert(offsetof(struct frame, field) == (offset), #field)
AT(arguments, FRAME_ARGUMENTS);
AT(clobbered, FRAME_VOLATILE);
AT(saved, FRAME_SAVED);
AT(saved_d, FRAME_SAVED_D);
AT(stack, FRAME_STACK);
AT(after, FRAME_AFTER);
AT(after_d, FRAME_AFTER_D);
AT(stack_after, FRAME_STACK_AFTER);
AT(fpcr, FRAME_FPCR);
AT(result, FRAME_RESULT);
AT(caller_stack, FRAME_CALLER_STACK);
AT(garbage, FRAME_GARBAGE);

void call_aarch64(struct frame *frame, call_fn *fn);

static struct frame frame;

static void prepare_once(void) {
    static bool done;
    if (done)
        return;
    done = true;
    rng_fill(frame.garbage, sizeof frame.garbage);
}

static void prepare_frame(bool dirty) {
    prepare_once();
    frame.stack = call_stack_top();
    if (!dirty)
        return;
    rng_fill(frame.clobbered, sizeof frame.clobbered);
    rng_fill(frame.saved, sizeof frame.saved);
    rng_fill(frame.saved_d, sizeof frame.saved_d);
}

static void judge_registers(struct verdict *verdict) {
    for (int i = 0; i < 11; i++)
        if (frame.after[i] != frame.saved[i])
            verdict_fail(verdict, "clobbers x%d; ", 19 + i);
    for (int i = 0; i < 8; i++)
        if (frame.after_d[i] != frame.saved_d[i])
            verdict_fail(verdict, "clobbers d%d; ", 8 + i);
    if (frame.stack_after != frame.stack)
        verdict_fail(verdict, "moves sp by %td; ", frame.stack_after - frame.stack);
    if (frame.fpcr[0] != frame.fpcr[1])
        verdict_fail(verdict, "changes FPCR; ");
}

/* Returns the address of argument `index` in the frame: the first three arguments are in an array
   of their own, the fourth is one of the clobbered registers. */
static uint64_t *argument_register(size_t index) {
    const size_t x3 = 0;
    return index < 3 ? &frame.arguments[index] : &frame.clobbered[x3];
}

uint64_t call_words(call_fn *fn, const uint64_t *words, size_t count, bool dirty,
                    struct verdict *verdict) {
    prepare_frame(dirty);
    for (size_t i = 0; i < count; i++)
        *argument_register(i) = words[i];
    call_aarch64(&frame, fn);
    judge_registers(verdict);
    call_stack_judge(verdict);
    return frame.result;
}

const char *call_limits(void) {
    return NULL;
}
