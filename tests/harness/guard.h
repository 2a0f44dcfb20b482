/* SPDX-License-Identifier: MIT */
/*
 * Memory with a page on either side that faults when it is accessed. For a run of n bytes at
 * end - n, accesses after it are caught; for a run at start, accesses before it.
 */
#ifndef CARRY_TESTS_GUARD_H
#define CARRY_TESTS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard {
    unsigned char *start; /* the page before it is forbidden */
    unsigned char *end;   /* the page after it is forbidden */
};

/* Returns at least `capacity` bytes, all 0. Calls bail_out() if there is no memory. */
struct guard guard_open(size_t capacity);
void guard_close(struct guard *guard);

/*
 * Returns `size` bytes that repeat the `block_size` bytes at `block`, without using memory for
 * them. block_size must be a multiple of the page size. Returns NULL where the system cannot do
 * this.
 */
const unsigned char *guard_repeat(const void *block, size_t block_size, size_t size);
void guard_repeat_close(const unsigned char *data, size_t block_size, size_t size);

#endif
