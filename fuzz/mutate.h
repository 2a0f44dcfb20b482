/* SPDX-License-Identifier: MIT */
/*
 * Changes an input in place, for all mutators. The seed determines every change.
 *
 * Positions are offsets in the input. Changes that do not fit, or lie beyond the input, are not
 * made.
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

/* Mutators of inputs. libFuzzer calls the first two instead of its own mutators. It provides the
   third; standalone.c provides a simple form of it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Returns a number below `limit`, or 0 if `limit` is 0. */
size_t edit_random(struct edit *edit, size_t limit);

/* Read and write a number of 1, 2 or 4 bytes; a number that is not wholly in the input reads as
   0. */
uint32_t edit_get(const struct edit *edit, size_t at, unsigned width, bool little);
void edit_put(struct edit *edit, size_t at, unsigned width, bool little, uint32_t value);

/* Writes a number that may make a length, a count or a type wrong. `rest` is a number that would be
   correct: many of the written numbers are close to it. */
void edit_number(struct edit *edit, size_t at, unsigned width, bool little, uint32_t rest);

/* Replaces `old` bytes by `size` other bytes. Returns false if the change was not made. */
bool edit_replace(struct edit *edit, size_t at, size_t old, const void *bytes, size_t size);

/* Inserts at `at` a copy of `size` bytes of the input. Returns false if the change was not made. */
bool edit_repeat(struct edit *edit, size_t at, size_t from, size_t size);

/* Makes any change to `size` bytes. Their number may shrink or, at the end of the input, grow. */
void edit_any(struct edit *edit, size_t at, size_t size);

/*
 * Makes one to four of the `count` changes or, with a probability of 1/2, calls edit_any(), which
 * finds defects near a seed sooner.
 */
typedef void edit_fn(struct edit *edit);
void edit_some(struct edit *edit, edit_fn *const *changes, size_t count);

#endif
