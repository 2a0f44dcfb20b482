/* SPDX-License-Identifier: MIT */
/*
 * Changes an input in place, for all mutators. The seed determines every change.
 *
 * Positions are bytes of the input. Changes that do not fit, or lie beyond the input, are not made.
 */
#ifndef CARRY_FUZZ_MUTATE_H
#define CARRY_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edit {
    uint8_t *bytes;
    size_t size;
    size_t max;
    uint64_t random;
};

/* Mutate an input: libFuzzer calls the first two instead of its own mutations, and provides the
   third; standalone.c provides a simple one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Returns a number below `limit`; 0 if that is 0. */
size_t edit_random(struct edit *edit, size_t limit);

/* Reads or writes a number of 1, 2 or 4 bytes; a number that is not wholly in the input reads as
   0. */
uint32_t edit_get(const struct edit *edit, size_t at, unsigned width, bool little);
void edit_put(struct edit *edit, size_t at, unsigned width, bool little, uint32_t value);

/* Writes a number that makes lengths, counts or types wrong; `rest` is one that would be right. */
void edit_number(struct edit *edit, size_t at, unsigned width, bool little, uint32_t rest);

/* Replaces `old` bytes by `size` other bytes. */
bool edit_replace(struct edit *edit, size_t at, size_t old, const void *bytes, size_t size);

/* Inserts a copy of bytes of the input itself. */
bool edit_repeat(struct edit *edit, size_t at, size_t from, size_t size);

/* Makes any change to `size` bytes; at the end of the input, their number may grow. */
void edit_any(struct edit *edit, size_t at, size_t size);

/*
 * Makes one to four of the `count` changes or, every second time, any change: the latter finds
 * defects near a seed sooner.
 */
typedef void edit_fn(struct edit *edit);
void edit_some(struct edit *edit, edit_fn *const *changes, size_t count);

#endif
