/* SPDX-License-Identifier: MIT */
/*
 * Tests templates: functions that write fields and preserve the verdicts of checksums, good or
 * absent.
 */
#include <carry/jit.h>

#include <stdio.h>
#include <string.h>

#include "harness/check_template.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "mutants/template.h"

static const struct template_maker jit_maker = {carry_jit_template, carry_jit_release, NULL};

/* --- Functions --- */

static void test_stacks(const struct effort *effort) {
    for (size_t i = 0; i < template_stack_count; i++) {
        struct verdict verdict = check_template(&jit_maker, &template_stacks[i], effort);
        verdict_report(&verdict, "%s", template_stacks[i].name);
    }
}

static const struct mutant {
    const char *name;
    enum broken_template mutant;
} mutants[] = {
    {"forgets", BROKEN_TEMPLATE_FORGETS}, {"outer", BROKEN_TEMPLATE_OUTER},
    {"fills", BROKEN_TEMPLATE_FILLS},     {"no_zero", BROKEN_TEMPLATE_NO_ZERO},
    {"behind", BROKEN_TEMPLATE_BEHIND},   {"reads", BROKEN_TEMPLATE_READS},
    {"rounds", BROKEN_TEMPLATE_ROUNDS},
};

/* Returns the failure of a mutant with the first stack that reveals it. */
static struct verdict check_mutant(enum broken_template mutant) {
    struct verdict verdict = {.ok = true};
    broken_template(mutant);
    for (size_t i = 0; i < template_stack_count && verdict.ok; i++)
        verdict = check_template(&broken_template_maker, &template_stacks[i], &effort_short);
    return verdict;
}

static void test_mutants(void) {
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        if (mutants[i].mutant == BROKEN_TEMPLATE_READS && fault_under_valgrind()) {
            tap_skip(mutants[i].name, "valgrind counts caught faults as errors");
            continue;
        }
        struct verdict verdict = check_mutant(mutants[i].mutant);
        tap_ok(!verdict.ok, "%s is caught: %s", mutants[i].name, verdict.text);
    }
    struct verdict verdict = check_mutant(BROKEN_TEMPLATE_NOT);
    verdict_report(&verdict, "the original passes");
}

/* --- Specs --- */

static struct template_packet packet;

static struct carry_jit_template_spec spec_of(const struct carry_jit_field *fields, size_t count) {
    return (struct carry_jit_template_spec){
        .frame = template_frame(&packet, NULL), .fields = fields, .count = count};
}

static const struct template_stack *stack_named(const char *name) {
    const struct template_stack *stack = template_stacks;
    while (strcmp(stack->name, name) != 0)
        stack++;
    return stack;
}

/* Checks that the error is named, and that no function is made. */
static void expect_error(const struct carry_jit_template_spec *spec, const char *text,
                         const char *name) {
    const struct carry_jit *jit = NULL;
    const char *found = carry_jit_template_error(spec);
    int error = carry_jit_template(spec, &jit);
    tap_ok(TAP_STREQ(found, text) && TAP_EQ(error, CARRY_ERROR_INVALID) && TAP_TRUE(!jit), "%s",
           name);
}

#define SHAPE  "fields: a field that determines the shape of the packet"
#define LENGTH "fields: a length"
#define SUM    "fields: a checksum"

static const struct refused {
    const char *stack;
    const char *name;
    uint32_t offset;
    uint32_t size;
    const char *error;
} refused[] = {
    {"TCP", "the type of Ethernet's content", 12, 2, SHAPE},
    {"TCP", "the version of IPv4 and its header's length", 14, 1, SHAPE},
    {"TCP", "the length of IPv4", 16, 2, LENGTH},
    {"TCP", "flags of fragments", 20, 1, SHAPE},
    {"TCP", "the offset of a fragment, and more", 21, 2, SHAPE},
    {"TCP", "the protocol in IPv4", 23, 1, SHAPE},
    {"TCP", "IPv4's checksum", 24, 2, SUM},
    {"TCP", "half of TCP's, and more", 51, 3, SUM},
    {"UDP", "the length of UDP", 38, 2, LENGTH},
    {"UDP over IPv6", "the version of IPv6", 14, 1, SHAPE},
    {"UDP over IPv6", "the length of IPv6", 18, 2, LENGTH},
    {"UDP over IPv6", "the next header of IPv6", 20, 1, SHAPE},
    {"UDP after a routing header", "the number of segments left", 57, 1, SHAPE},
    {"TCP in VXLAN", "the port of VXLAN", 36, 2, SHAPE},
    {"TCP in VXLAN", "the flags of VXLAN", 42, 1, SHAPE},
    {"TCP in VXLAN", "the length of IPv4 within", 66, 2, LENGTH},
    {"TCP in GRE with a checksum and a key", "the flags of GRE", 34, 2, SHAPE},
    {"TCP in GRE with a checksum and a key", "GRE's checksum", 38, 2, SUM},
    {"ICMP of zeros only", "a checksum and a field after it", 36, 3, SUM},
    {"UDP without a checksum", "an absent checksum", 40, 2, SUM},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct carry_jit_field field = {refused[i].offset, refused[i].size};
        template_packet(&packet, stack_named(refused[i].stack));
        struct carry_jit_template_spec spec = spec_of(&field, 1);
        expect_error(&spec, refused[i].error, refused[i].name);
    }
}

static void test_outlines(void) {
    struct carry_jit_field fields[CARRY_JIT_FIELDS_MAX + 1] = {{8, 2}, {4, 2}};
    template_packet(&packet, &template_stacks[0]);
    struct carry_jit_template_spec spec = spec_of(fields, 2);
    expect_error(&spec, "fields: not in ascending order, or overlapping", "descending fields");
    fields[1].offset = 9;
    expect_error(&spec, "fields: not in ascending order, or overlapping", "overlapping fields");
    fields[1].size = 0;
    expect_error(&spec, "fields: empty field", "an empty field");
    fields[1] = (struct carry_jit_field){packet.size - 1, 2};
    expect_error(&spec, "fields: beyond the frame", "a field beyond the frame");
    fields[1].offset = UINT32_MAX;
    expect_error(&spec, "fields: beyond the frame", "a field beyond 4 GiB");
    fields[1] = (struct carry_jit_field){INT32_MAX, 1};
    spec.frame.captured = UINT32_MAX;
    expect_error(&spec, "fields: beyond 2 GiB", "a field in a frame of 4 GiB");
    spec.frame.captured = packet.size;
    spec = spec_of(fields, CARRY_JIT_FIELDS_MAX + 1);
    expect_error(&spec, "count: above CARRY_JIT_FIELDS_MAX", "too many fields");
    spec = spec_of(NULL, 1);
    expect_error(&spec, "fields: none", "no fields");
    spec = spec_of(fields, 1);
    spec.reserved[3] = 1;
    expect_error(&spec, "reserved: not 0", "a reserved member");
}

static void test_frames(void) {
    static uint8_t large[CARRY_JIT_FIELDS_BYTES_MAX + 1];
    struct carry_jit_field field = {0, 1};
    template_packet(&packet, &template_stacks[0]);
    struct carry_jit_template_spec spec = spec_of(&field, 1);
    spec.frame.linktype = 0xffff;
    expect_error(&spec, "frame: unknown link type", "an unknown link type");
    spec = spec_of(&field, 1);
    spec.frame.data = NULL;
    expect_error(&spec, "frame: no data", "no data");
    spec = spec_of(&field, 1);
    spec.frame.captured = 51;
    expect_error(&spec, "frame: cut off within a checksum", "a frame that ends in a checksum");
    packet.bytes[20] = 0x20;
    spec = spec_of(&field, 1);
    expect_error(&spec, "frame: a fragment", "a fragment");
    packet.bytes[20] = 0;
    packet.bytes[16] = 1;
    expect_error(&spec, "frame: headers that contradict each other", "a length beyond the frame");
    spec.frame = (struct carry_frame){.data = large, .captured = sizeof large, .linktype = 1};
    field.size = sizeof large;
    expect_error(&spec, "fields: above CARRY_JIT_FIELDS_BYTES_MAX in all", "fields of 257 bytes");
}

/* --- Errors that only a generator detects --- */

static const struct template_stack sctp = {
    .name = "SCTP",
    .bytes = "[020000000001 020000000002] 0800 45[00]0024 [1234] 4000 [40]84 0000 c0000201 c6336407"
             "0050 c001 [01020304] 12345678 03000004",
    .verdicts = "ip good, sctp good",
};

static void test_sctp(void) {
    struct carry_jit_field within = {38, 4}, outside = {22, 1};
    const struct carry_jit *jit;
    template_packet(&packet, &sctp);
    struct carry_jit_template_spec spec = spec_of(&within, 1);
    tap_ok(TAP_TRUE(!carry_jit_template_error(&spec)) &&
               TAP_EQ(carry_jit_template(&spec, &jit), CARRY_ERROR_UNSUPPORTED),
           "a field that a CRC covers is refused");
    spec = spec_of(&outside, 1);
    if (tap_ok(TAP_EQ(carry_jit_template(&spec, &jit), CARRY_OK),
               "a field that no CRC covers is accepted"))
        carry_jit_release(jit);
}

/* Compares handles of functions: equal plans share a function, different ones do not. */
static void test_sharing(void) {
    const struct carry_jit *jits[4];
    struct carry_jit_field fields[] = {{26, 4}, {26, 4}, {26, 4}, {30, 4}};
    bool made = true;
    template_packet(&packet, &template_stacks[0]);
    for (size_t i = 0; i < 4; i++) {
        struct carry_jit_template_spec spec = spec_of(&fields[i], 1);
        packet.bytes[packet.size - 1] ^= i == 2;
        made = made && TAP_EQ(carry_jit_template(&spec, &jits[i]), CARRY_OK);
    }
    if (!tap_ok(made, "functions for four specs are made"))
        return;
    tap_ok(TAP_EQ(jits[0], jits[1]), "equal specs with fields elsewhere share a function");
    tap_ok(TAP_EQ(jits[1], jits[2]), "examples that differ in irrelevant bytes share a function");
    tap_ok(TAP_NE(jits[2], jits[3]), "a spec with other fields has another function");
    for (size_t i = 0; i < 4; i++)
        carry_jit_release(jits[i]);
}

/* Tests that changes inside a tunnel cancel out in the sums around it. */
static void test_untouched_sums(void) {
    struct carry_jit_field field = {42 + 8 + 14 + 20 + 4, 4};
    const struct carry_jit *jit;
    uint8_t values[4] = {0xde, 0xad, 0xbe, 0xef};
    template_packet(&packet, stack_named("TCP in VXLAN"));
    struct template_packet before = packet;
    struct carry_jit_template_spec spec = spec_of(&field, 1);
    if (!tap_ok(TAP_EQ(carry_jit_template(&spec, &jit), CARRY_OK),
                "a function for TCP's sequence number in VXLAN is made"))
        return;
    jit->write(packet.bytes, values);
    tap_ok(TAP_MEMEQ(packet.bytes, before.bytes, 42), "the sums around it are not written");
    carry_jit_release(jit);
}

static bool has_generator(void) {
    const struct carry_jit *jit;
    template_packet(&packet, &template_stacks[0]);
    struct carry_jit_template_spec spec = spec_of(NULL, 0);
    int error = carry_jit_template(&spec, &jit);
    if (error == CARRY_OK)
        carry_jit_release(jit);
    return error != CARRY_ERROR_UNSUPPORTED;
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    test_refused();
    test_outlines();
    test_frames();
    test_mutants();
    if (!has_generator()) {
        tap_skip("what templates write", "no generator for this architecture");
        return tap_done();
    }
    test_stacks(effort);
    test_sctp();
    test_sharing();
    test_untouched_sums();
    return tap_done();
}
