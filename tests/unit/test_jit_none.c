/* SPDX-License-Identifier: MIT */
/* Tests libcarry-jit on architectures without a generator. */
#include <carry/jit.h>

#include <string.h>

#include "harness/tap.h"

int main(void) {
    const struct carry_jit before, *jit = &before;
    const struct carry_jit_sum_spec spec = {.min_size = 20, .max_size = 20};
    const struct carry_jit_sum_spec wrong = {.min_size = 20};
    tap_ok(TAP_EQ(carry_jit_sum(&spec, &jit), CARRY_ERROR_UNSUPPORTED) && TAP_EQ(jit, &before),
           "no function is made");
    tap_ok(!carry_jit_sum_error(&spec), "a right spec has no error");
    tap_ok(TAP_EQ(carry_jit_sum(&wrong, &jit), CARRY_ERROR_INVALID) && TAP_EQ(jit, &before) &&
               TAP_TRUE(!strncmp(carry_jit_sum_error(&wrong), "max_size", 8)),
           "a wrong spec has an error");
    tap_ok(TAP_EQ(carry_jit_list(CARRY_JIT_GDB), CARRY_OK), "lists remain empty");
    return tap_done();
}
