/* SPDX-License-Identifier: MIT */
/* The internal interface between the files of the self-test. */
#ifndef CARRY_LINUX_SELFTEST_H
#define CARRY_LINUX_SELFTEST_H

#include <linux/compiler_attributes.h>

#include "carry_module.h"

/* A KTAP test. It fails if carry_test_fail() is called for it. */
struct carry_test {
    struct seq_file *out;
    const char *name;
    unsigned int failures;
};

__printf(2, 3) void carry_test_fail(struct carry_test *test, const char *format, ...);

#define carry_expect(test, condition, ...)                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            carry_test_fail(test, __VA_ARGS__);                                                    \
    } while (0)

/* The forms of the kernels. */
struct carry_sum_forms {
    const char *name;
    carry_sum_fn *sum;
    carry_sum_copy_fn *copy;
    carry_sum_copy_try_fn *copy_try;
};

struct carry_copy_forms {
    const char *name;
    carry_copy_fn *copy;
    carry_copy_try_fn *copy_try;
};

/* Return the next kernel that this CPU can run, starting with *index = 0; NULL after the last. */
const struct carry_sum_forms *carry_test_next_sum(size_t *index);
const struct carry_copy_forms *carry_test_next_copy(size_t *index);

/* Fills `data` with pseudorandom bytes, the same bytes each time. */
void carry_test_fill(void *data, size_t size);

void carry_test_sum(struct carry_test *test);
void carry_test_sum_copy(struct carry_test *test);
void carry_test_copy(struct carry_test *test);
void carry_test_crc32c(struct carry_test *test);
void carry_test_packet(struct carry_test *test);
void carry_test_fault(struct carry_test *test);
void carry_test_fault_sum(struct carry_test *test);
void carry_test_nofault(struct carry_test *test);
void carry_test_user(struct carry_test *test);
void carry_test_contexts(struct carry_test *test);
void carry_test_nested(struct carry_test *test);
void carry_test_threshold(struct carry_test *test);
void carry_test_interrupts(struct carry_test *test);

#endif
