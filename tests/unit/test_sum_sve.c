/* SPDX-License-Identifier: MIT */
/* Tests `sum`: the kernels for scalable vectors, at each length that this CPU supports. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <carry/cpu.h>
#include <carry/sum.h>

#include "harness/check_sum.h"
#include "harness/check_sum_copy.h"
#include "harness/oracle.h"
#include "harness/tap.h"

#define BITS_MAX 2048

/* Defined in harness/: the library's kernels, but with parts of 1,000 bytes. */
carry_sum_fn carry_sum_sve2_parts;
carry_sum_copy_fn carry_sum_copy_sve2_parts;

static const struct effort *effort;

/* Returns the vector length that instructions use. */
static unsigned vector_bits(void) {
    uint64_t bytes;
    __asm__ volatile(".arch_extension sve\n\trdvl %0, #1" : "=r"(bytes));
    return (unsigned)bytes * 8;
}

static void check_kernels(carry_sum_fn *sum, carry_sum_copy_fn *copy, const char *kernel) {
    char name[64];
    snprintf(name, sizeof name, "%s, %u bits", kernel, vector_bits());
    sum_check_all(&oracle_internet, sum, effort, name);
    sum_copy_check_all(copy, effort, name);
}

static void check_all_kernels(unsigned bits) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        if (!strncmp(kernel.name, "sve", 3) && !kernel.missing)
            check_kernels(kernel.sum, kernel.copy, kernel.name);
    if (carry_cpu_has("sve2") && bits == 128)
        check_kernels(carry_sum_sve2_parts, carry_sum_copy_sve2_parts, "sve2 in parts");
}

int main(void) {
    effort = effort_chosen();
    effort_note(effort);
    /* The shortest level tries only 128, 256 and 2,048 bits. */
    const bool is_short = !strcmp(effort->name, "short");
    for (unsigned bits = 128; bits <= BITS_MAX; bits *= is_short && bits == 256 ? 8 : 2) {
        if (carry_cpu_has("sve"))
            prctl(PR_SVE_SET_VL, bits / 8);
        if (carry_cpu_has("sve") && vector_bits() == bits)
            check_all_kernels(bits);
        else
            tap_skip("kernels for vectors of any length", "no vectors of %u bits", bits);
    }
    return tap_done();
}
