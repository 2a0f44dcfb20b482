/* SPDX-License-Identifier: MIT */
/* Packet functions made at run time: every stack by the checks of harness/check_jit_packet.h. */
#include <carry/jit.h>

#include "harness/check_jit_packet.h"
#include "harness/tap.h"

static void test_stack(const struct stack *stack, uint32_t flags, const struct effort *effort) {
    struct carry_jit_packet_spec spec = stack->spec;
    const struct carry_jit *jit;
    spec.flags = flags;
    int error = carry_jit_packet(&spec, &jit);
    if (!tap_ok(error == CARRY_OK, "%s: is made", stack->name))
        return;
    struct verdict verdict = check_jit_packet(&spec, jit->packet, effort);
    verdict_report(&verdict, "%s: %s as the walk does", stack->name,
                   flags & CARRY_JIT_FILL ? "fills in" : "checks");
    carry_jit_release(jit);
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    for (size_t i = 0; i < stacks_count; i++) {
        test_stack(&stacks[i], 0, effort);
        test_stack(&stacks[i], CARRY_JIT_FILL, effort);
    }
    return tap_done();
}
