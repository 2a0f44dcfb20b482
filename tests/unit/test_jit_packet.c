/* SPDX-License-Identifier: MIT */
/*
 * Tests packet functions made at run time: every stack with the checks of
 * harness/check_jit_packet.h.
 */
#include <string.h>

#include <carry/jit.h>

#include "harness/check_jit_packet.h"
#include "harness/tap.h"

static void test_stack(const struct stack *stack, uint32_t flags, const struct effort *effort) {
    struct carry_jit_packet_spec spec = stack->spec;
    const struct carry_jit *jit;
    spec.flags = flags;
    int error = carry_jit_packet(&spec, &jit);
    if (!tap_ok(TAP_EQ(error, CARRY_OK), "%s: a function is made", stack->name))
        return;
    struct verdict verdict = check_jit_packet(&spec, jit->packet, effort);
    verdict_report(&verdict, "%s: the function %s like the walk", stack->name,
                   flags & CARRY_JIT_FILL ? "fills in" : "checks");
    carry_jit_release(jit);
}

#define TCP4                                                                                       \
    { CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP, CARRY_PROTOCOL_TCP }

static void test_errors(void) {
    static const struct {
        struct carry_jit_packet_spec spec;
        const char *member;
    } wrong[] = {
        {{.linktype = 1, .count = 3, .flags = 2, .layers = TCP4}, "flags: "},
        {{.linktype = 1, .count = 0}, "count: "},
        {{.linktype = 1, .count = 17, .layers = TCP4}, "count: "},
        {{.linktype = 1, .count = 1, .layers = {CARRY_PROTOCOL_COUNT}}, "layers: "},
        {{.linktype = 1, .count = 2, .layers = TCP4}, "layers: "},
        {{.linktype = 101, .count = 3, .layers = TCP4}, "linktype: "},
        {{.linktype = 1, .count = 3, .layers = TCP4, .reserved = {0, 0, 0, 1}}, "reserved: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct carry_jit *jit = NULL;
        const char *error = carry_jit_packet_error(&wrong[i].spec);
        tap_ok(TAP_TRUE(error) &&
                   TAP_TRUE(strncmp(error, wrong[i].member, strlen(wrong[i].member)) == 0) &&
                   TAP_EQ(carry_jit_packet(&wrong[i].spec, &jit), CARRY_ERROR_INVALID) &&
                   TAP_TRUE(!jit),
               "wrong: %s", error ? error : "nothing");
    }
}

static void test_unknown_stacks(void) {
    static const struct carry_jit_packet_spec unknown[] = {
        {.linktype = 1, .count = 1},
        {.linktype = 1, .count = 2, .layers = {CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_TCP}},
        {.linktype = 1, .count = 2, .layers = {CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_MPLS}},
        {.linktype = 228, .count = 2, .layers = {CARRY_PROTOCOL_IP, CARRY_PROTOCOL_ICMPV6}},
        {.linktype = 228, .count = 2, .layers = {CARRY_PROTOCOL_IP, CARRY_PROTOCOL_SCTP}},
        {.linktype = 228,
         .count = 3,
         .layers = {CARRY_PROTOCOL_IP, CARRY_PROTOCOL_TCP, CARRY_PROTOCOL_IP}},
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const struct carry_jit *jit = NULL;
        tap_ok(TAP_TRUE(!carry_jit_packet_error(&unknown[i])) &&
                   TAP_EQ(carry_jit_packet(&unknown[i], &jit), CARRY_ERROR_UNSUPPORTED) &&
                   TAP_TRUE(!jit),
               "no function is made for stack %zu", i);
    }
}

static int shape_of(const struct stacked *frame, uint32_t captured,
                    struct carry_jit_packet_spec *spec) {
    const struct carry_frame view = {frame->bytes, captured, frame->size, spec->linktype, 0};
    return carry_jit_packet_shape(&view, spec);
}

static void test_shapes(void) {
    static struct stacked frame;
    for (size_t i = 0; i < stacks_count; i++) {
        struct carry_jit_packet_spec wanted = stacks[i].spec;
        struct carry_jit_packet_spec found = {.linktype = wanted.linktype, .flags = CARRY_JIT_FILL};
        wanted.flags = CARRY_JIT_FILL;
        stack_build(&frame, &wanted, 9);
        bool ok = TAP_EQ(shape_of(&frame, frame.size, &found), CARRY_OK) &&
                  TAP_MEMEQ(&found, &wanted, sizeof found);
        tap_ok(ok, "%s: the shape of such a frame is recognised", stacks[i].name);
        memset(&found.layers, 0xff, sizeof found.layers);
        struct carry_jit_packet_spec before = found;
        tap_ok(TAP_EQ(shape_of(&frame, frame.headers - 1, &found), CARRY_ERROR_UNSUPPORTED) &&
                   TAP_MEMEQ(&found, &before, sizeof found),
               "%s: with a cut header no shape is found, and the spec is unchanged",
               stacks[i].name);
    }
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    for (size_t i = 0; i < stacks_count; i++) {
        test_stack(&stacks[i], 0, effort);
        test_stack(&stacks[i], CARRY_JIT_FILL, effort);
    }
    test_errors();
    test_unknown_stacks();
    test_shapes();
    return tap_done();
}
