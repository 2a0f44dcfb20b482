/* SPDX-License-Identifier: MIT */
/*
 * Checks of functions that use the kernels of carry_sum() or combine their results. Like the checks
 * of check_sum.h, they return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_PARTS_H
#define CARRY_TESTS_CHECK_PARTS_H

#include <carry/sum.h>

#include "harness/effort.h"
#include "harness/verdict.h"

typedef uint32_t iov_fn(const struct carry_slice *slices, size_t count, size_t skip, size_t size,
                        uint32_t sum);
typedef uint32_t combine_fn(uint32_t a, uint32_t b, size_t offset_of_b);
typedef void burst_fn(const struct carry_slice *slices, size_t count, uint32_t *sums);
typedef uint16_t update_fn(uint16_t check, const void *from, const void *to, size_t size);

/*
 * Checks random slices, including empty and odd ones; skips and sizes may go beyond the last slice.
 */
struct verdict check_iov(iov_fn *iov, const struct effort *effort);

/* Checks every split of runs of up to 130 bytes. */
struct verdict check_combine(combine_fn *combine, const struct effort *effort);

struct verdict check_burst(burst_fn *burst, const struct effort *effort);

/*
 * Compares each update with a recomputed checksum, for random headers and for headers whose
 * checksum is 0x0000 before or after the update: RFC 1141 is wrong for these, and RFC 1624 corrects
 * it. `size` is the size of the changed field, or 0 for random sizes.
 */
struct verdict check_update(update_fn *update, size_t size, const struct effort *effort);

#endif
