/* SPDX-License-Identifier: MIT */
/*
 * Tests that functions of <carry/jit.h> accept or refuse, by the rule of <carry/base.h>, missing
 * objects and numbers out of range.
 */
#include <carry/jit.h>

#include "harness/tap.h"

#define NO_ENUMERATOR 99

static void test_specs(void) {
    const struct carry_jit *jit = NULL;
    const struct carry_jit_sum_spec sum = {.result = NO_ENUMERATOR};
    tap_ok(TAP_TRUE(carry_jit_sum_error(&sum)) &&
               TAP_EQ(carry_jit_sum(&sum, &jit), CARRY_ERROR_INVALID) && TAP_TRUE(!jit),
           "a result");
    const struct carry_jit_packet_spec many = {.linktype = 1, .count = NO_ENUMERATOR};
    const struct carry_jit_packet_spec layer = {.linktype = 1, .count = 1, .layers = {255}};
    tap_ok(TAP_TRUE(carry_jit_packet_error(&many)) && TAP_TRUE(carry_jit_packet_error(&layer)) &&
               TAP_EQ(carry_jit_packet(&many, &jit), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_jit_packet(&layer, &jit), CARRY_ERROR_INVALID) && TAP_TRUE(!jit),
           "layers");
}

/* Passes an empty frame, without fields. */
static void test_nothing(void) {
    const struct carry_jit *jit = NULL;
    const struct carry_frame frame = {.linktype = 1};
    const struct carry_jit_template_spec template = {.frame = frame};
    struct carry_jit_packet_spec shape = {0};
    tap_ok(TAP_TRUE(!carry_jit_template_error(&template)) &&
               TAP_EQ(carry_jit_template(&template, &jit), CARRY_OK),
           "no bytes, no fields");
    carry_jit_release(jit);
    tap_ok(TAP_EQ(carry_jit_packet_shape(&frame, &shape), CARRY_ERROR_UNSUPPORTED), "no headers");
    carry_jit_release(NULL);
}

int main(void) {
    test_specs();
    test_nothing();
    tap_ok(TAP_EQ(carry_jit_list(1u << 31), CARRY_ERROR_INVALID), "a listing");
    return tap_done();
}
