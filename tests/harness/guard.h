/* SPDX-License-Identifier: MIT */
/*
 * Memory with a page on either side that faults when touched: [end - n, end) catches what reads
 * beyond a run of n bytes, [start, start + n) what reads before it.
 */
#ifndef CARRY_TESTS_GUARD_H
#define CARRY_TESTS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard {
    unsigned char *start; /* the page before it is forbidden */
    unsigned char *end;   /* the page after it is forbidden */
};

/* At least `capacity` bytes, all 0. Calls bail_out() if there is no memory. */
struct guard guard_open(size_t capacity);
void guard_close(struct guard *guard);

/*
 * `size` bytes that read as the `block_size` bytes at `block` over and over, without the memory
 * for it: block_size is a multiple of the page size. NULL where the system cannot.
 */
const unsigned char *guard_repeat(const void *block, size_t block_size, size_t size);
void guard_repeat_close(const unsigned char *data, size_t block_size, size_t size);

#endif
