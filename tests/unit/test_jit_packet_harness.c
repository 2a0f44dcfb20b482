/* SPDX-License-Identifier: MIT */
/* Tests that the checks of packet functions made at run time catch their mutants. */
#include <string.h>

#include "harness/check_jit_packet.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "mutants/jit_packet.h"

#define VXLAN                                                                                      \
    {                                                                                              \
        CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP, CARRY_PROTOCOL_UDP, CARRY_PROTOCOL_VXLAN,      \
            CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP, CARRY_PROTOCOL_TCP                         \
    }

static struct carry_jit_packet_spec vxlan = {.linktype = 1, .count = 7, .layers = VXLAN};

static const struct mutant {
    const char *name;
    carry_jit_packet_fn *function;
    uint32_t flags;
    const char *message; /* of the check that catches the mutant */
} mutants[] = {
    {"lists_early", broken_jit_packet_lists_early, 0, "field"},
    {"reads_on", broken_jit_packet_reads_on, 0, "touches what it must not"},
    {"overflows", broken_jit_packet_overflows, 0, "capacity"},
    {"overflows", broken_jit_packet_overflows, CARRY_JIT_FILL, "capacity"},
    {"shy", broken_jit_packet_shy, 0, "payload"},
    {"blames", broken_jit_packet_blames, 0, "mixture"},
    {"forgives", broken_jit_packet_forgives, 0, "with sums of 0"},
    {"forgets", broken_jit_packet_forgets, CARRY_JIT_FILL, "with sums of 0"},
    {"spoils", broken_jit_packet_spoils, CARRY_JIT_FILL, "padding"},
};

static void expect_caught(carry_jit_packet_fn *function, uint32_t flags, const char *name,
                          const char *message) {
    vxlan.flags = flags;
    struct verdict verdict = check_jit_packet(&vxlan, function, &effort_short);
    bool caught = TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, message));
    if (!caught)
        tap_note("wanted \"%s\", got \"%s\"", message, verdict.text);
    tap_ok(caught, "%s is caught: %s", name, verdict.text);
}

static const struct carry_jit *make_packet_function(struct carry_jit_packet_spec spec,
                                                    uint32_t flags) {
    const struct carry_jit *jit = NULL;
    spec.flags = flags;
    tap_ok(TAP_EQ(carry_jit_packet(&spec, &jit), CARRY_OK), "a function is made");
    return jit;
}

static void test_mutant(const struct mutant *mutant) {
    const struct carry_jit *jit = make_packet_function(vxlan, mutant->flags);
    broken_jit_packet_not = jit->packet;
    expect_caught(mutant->function, mutant->flags, mutant->name, mutant->message);
    carry_jit_release(jit);
}

/* Tests functions that are right for another spec, as made by a generator that confuses specs. */
static void test_others(void) {
    const struct carry_jit *fills = make_packet_function(vxlan, CARRY_JIT_FILL),
                           *checks = make_packet_function(vxlan, 0);
    expect_caught(fills->packet, 0, "one that fills in", "payload");
    expect_caught(checks->packet, CARRY_JIT_FILL, "one that checks", "payload");
    for (size_t i = 0; i < stacks_count; i++) {
        if (memcmp(&stacks[i].spec.layers, &vxlan.layers, sizeof vxlan.layers) == 0)
            continue;
        const struct carry_jit *other = make_packet_function(stacks[i].spec, 0);
        expect_caught(other->packet, 0, stacks[i].name, "payload");
        carry_jit_release(other);
    }
    carry_jit_release(fills);
    carry_jit_release(checks);
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports the faults that are provoked here");
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    test_others();
    return tap_done();
}
