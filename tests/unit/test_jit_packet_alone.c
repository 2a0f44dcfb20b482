/* SPDX-License-Identifier: MIT */
/*
 * Tests that packet functions made at run time judge the usual frames of captures themselves. They
 * pass other frames to the compiled functions, whose answers are the same, so no other test would
 * notice a function that passes all frames on.
 */
#include <string.h>

#include <carry/jit.h>

#include "harness/stacks.h"
#include "harness/tap.h"

#define PAYLOAD 33

/* The linker option --wrap makes libcarry-jit use these functions' addresses. */
extern __typeof__(carry_packet_check) __real_carry_packet_check, __wrap_carry_packet_check;
extern __typeof__(carry_packet_fill) __real_carry_packet_fill, __wrap_carry_packet_fill;

static unsigned handed_over;

size_t __wrap_carry_packet_check(const struct carry_frame *frame,
                                 const struct carry_packet_options *options,
                                 struct carry_packet_sum *sums, size_t capacity) {
    handed_over++;
    return __real_carry_packet_check(frame, options, sums, capacity);
}

size_t __wrap_carry_packet_fill(const struct carry_frame *frame,
                                const struct carry_packet_options *options,
                                struct carry_packet_sum *sums, size_t capacity) {
    handed_over++;
    return __real_carry_packet_fill(frame, options, sums, capacity);
}

static struct carry_frame view_stacked(const struct stacked *frame,
                                       const struct carry_jit_packet_spec *spec, uint32_t cut) {
    return (struct carry_frame){frame->bytes, frame->size - cut, frame->size, spec->linktype, 0};
}

/* Makes the innermost sum partial, as senders do, and sets the UDP sums around it to 0. */
static void leave_to_card(struct stacked *frame, const struct carry_jit_packet_spec *spec) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame all = view_stacked(frame, spec, 0);
    size_t count = __real_carry_packet_check(&all, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++) {
        uint16_t left = i + 1 < count ? 0 : carry_sum_fold(sums[i].pseudo);
        if (sums[i].pseudo)
            memcpy(frame->bytes + sums[i].field_offset, &left, sizeof left);
    }
}

static unsigned count_tunnels(const struct carry_jit_packet_spec *spec) {
    unsigned count = 0;
    for (uint32_t i = 0; i < spec->count; i++)
        count +=
            spec->layers[i] == CARRY_PROTOCOL_VXLAN || spec->layers[i] == CARRY_PROTOCOL_GENEVE;
    return count;
}

static void expect_calls(const struct carry_jit *jit, const struct carry_frame *frame,
                         unsigned expected, const char *stack, const char *what) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    handed_over = 0;
    int count = jit->packet(frame, sums, CARRY_PACKET_SUMS_MAX);
    tap_ok(TAP_NE(count, CARRY_JIT_OTHER_SHAPE) && TAP_EQ(handed_over, expected), "%s: %s %s",
           stack, what, expected ? "is passed on" : "is answered");
}

static void test_check(const struct stack *stack, const struct carry_jit *jit) {
    static struct stacked frame;
    stack_build(&frame, &stack->spec, PAYLOAD);
    const struct carry_frame all = view_stacked(&frame, &stack->spec, 0);
    const struct carry_frame cut = view_stacked(&frame, &stack->spec, 1);
    expect_calls(jit, &all, 0, stack->name, "a good frame");
    expect_calls(jit, &cut, 0, stack->name, "a cut frame");
    leave_to_card(&frame, &stack->spec);
    expect_calls(jit, &all, 0, stack->name, "an offloaded frame");
}

/* Fills in a frame. If UDP tunnels are nested, the compiled function must compute the sums. */
static void test_fill(const struct stack *stack, const struct carry_jit *jit) {
    static struct stacked frame;
    unsigned expected = count_tunnels(&stack->spec) > 1;
    stack_build(&frame, &stack->spec, PAYLOAD);
    leave_to_card(&frame, &stack->spec);
    const struct carry_frame all = view_stacked(&frame, &stack->spec, 0);
    expect_calls(jit, &all, expected, stack->name, "a frame to be filled in");
}

static const struct carry_jit *make_function(struct carry_jit_packet_spec spec, uint32_t flags) {
    const struct carry_jit *jit = NULL;
    spec.flags = flags;
    tap_ok(TAP_EQ(carry_jit_packet(&spec, &jit), CARRY_OK), "a function is made");
    return jit;
}

int main(void) {
    for (size_t i = 0; i < stacks_count; i++) {
        const struct carry_jit *checks = make_function(stacks[i].spec, 0);
        const struct carry_jit *fills = make_function(stacks[i].spec, CARRY_JIT_FILL);
        test_check(&stacks[i], checks);
        test_fill(&stacks[i], fills);
        carry_jit_release(checks);
        carry_jit_release(fills);
    }
    return tap_done();
}
