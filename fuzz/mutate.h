/* SPDX-License-Identifier: MIT */
/*
 * Changing an input in place: what the mutators share. All of it follows from the seed.
 *
 * Positions are bytes of the input. What would not fit, or is not there, is left undone.
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

/* What libFuzzer calls instead of its own mutations, and what those are; standalone.c has some. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Below `limit`; 0 if that is 0. */
size_t edit_random(struct edit *edit, size_t limit);

/* A number of 1, 2 or 4 bytes; one that is not all there reads as 0. */
uint32_t edit_get(const struct edit *edit, size_t at, unsigned width, bool little);
void edit_put(struct edit *edit, size_t at, unsigned width, bool little, uint32_t value);

/* Puts a number where lengths, counts and types go wrong; `rest` is one that would be right. */
void edit_number(struct edit *edit, size_t at, unsigned width, bool little, uint32_t rest);

/* Puts `size` bytes from elsewhere in the place of `old` ones. */
bool edit_replace(struct edit *edit, size_t at, size_t old, const void *bytes, size_t size);

/* The same, with bytes of the input itself. */
bool edit_repeat(struct edit *edit, size_t at, size_t from, size_t size);

/* Any change of `size` bytes; at the end of the input there may be more of them afterwards. */
void edit_any(struct edit *edit, size_t at, size_t size);

/*
 * Makes one to four of these changes; or, every second time, any: what is wrong near a seed is
 * found sooner by those.
 */
typedef void edit_fn(struct edit *edit);
void edit_some(struct edit *edit, edit_fn *const *changes, size_t count);

#endif
