/* SPDX-License-Identifier: MIT */
/* Each kernel of sums and copies, at all sizes and alignments, against the oracle and Linux. */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/fpu/api.h>
#include <net/checksum.h>

#include "carry_linux.h"
#include "oracle.h"
#include "selftest.h"

#define SIZE_LAST 2048
#define OFFSETS   32
#define SEED      0x12345678u
#define UNTOUCHED 0xee

struct buffers {
    u8 from[OFFSETS + SIZE_LAST + 1];
    u8 to[OFFSETS + SIZE_LAST + 1];
    u32 expected[SIZE_LAST + 1]; /* of each size, from one offset on */
};

static const char no_memory[] = "no memory";

static struct buffers *new_buffers(void) {
    struct buffers *buffers = kvmalloc(sizeof *buffers, GFP_KERNEL);

    if (buffers)
        carry_test_fill(buffers->from, sizeof buffers->from);
    return buffers;
}

/* It grows by a byte at a time. */
static void ask_oracle(const struct oracle_kind *kind, struct buffers *buffers, size_t offset) {
    struct oracle oracle = kind->start(SEED);
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        buffers->expected[size] = kind->value(&oracle);
        kind->byte(&oracle, buffers->from[offset + size]);
    }
}

/* --- Sums --- */

/* The kernels themselves are called in sections; functions of the module and of Linux are not. */
static void check_sums(struct carry_test *test, const struct oracle_kind *kind,
                       const struct buffers *buffers, size_t offset, const char *name,
                       carry_sum_fn *sum, bool in_section) {
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        u32 value;

        if (in_section)
            kernel_fpu_begin();
        value = kind->fold(sum(buffers->from + offset, size, SEED));
        if (in_section)
            kernel_fpu_end();
        carry_expect(test, value == buffers->expected[size],
                     "%s of %zu bytes at offset %zu: %x, not %x", name, size, offset, value,
                     buffers->expected[size]);
    }
}

/* Linux is an oracle too. */
static uint32_t sum_by_linux(const void *data, size_t size, uint32_t sum) {
    return (__force u32)csum_partial(data, size, (__force __wsum)sum);
}

static uint32_t sum_by_module(const void *data, size_t size, uint32_t sum) {
    return (__force u32)carry_csum_partial(data, size, (__force __wsum)sum);
}

const char *carry_test_sum(struct carry_test *test) {
    struct buffers *buffers = new_buffers();
    const struct carry_sum_forms *forms;
    size_t offset, i;

    if (!buffers)
        return no_memory;
    for (offset = 0; offset < OFFSETS; offset++) {
        ask_oracle(&oracle_internet, buffers, offset);
        i = 0;
        while ((forms = carry_test_next_sum(&i)))
            check_sums(test, &oracle_internet, buffers, offset, forms->name, forms->sum, true);
        check_sums(test, &oracle_internet, buffers, offset, "Linux", sum_by_linux, false);
        check_sums(test, &oracle_internet, buffers, offset, "module", sum_by_module, false);
        cond_resched();
    }
    kvfree(buffers);
    return NULL;
}

const char *carry_test_crc32c(struct carry_test *test) {
    struct buffers *buffers = new_buffers();
    struct carry_sum_kernel kernel;
    size_t i;

    if (!buffers)
        return no_memory;
    ask_oracle(&oracle_crc32c, buffers, 1);
    for (i = 0; carry_crc32c_kernel(i, &kernel); i++)
        if (!kernel.missing)
            check_sums(test, &oracle_crc32c, buffers, 1, kernel.name, kernel.sum, true);
    check_sums(test, &oracle_crc32c, buffers, 1, "module", carry_crc32c, false);
    kvfree(buffers);
    return NULL;
}
