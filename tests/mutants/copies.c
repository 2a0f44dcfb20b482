/* SPDX-License-Identifier: MIT */
#include "mutants/mutants.h"

#include <string.h>

#define VECTOR_BYTES 16

void broken_copy_not(void *dst, const void *src, size_t size) {
    unsigned char *to = dst;
    const unsigned char *from = src;
    while (size--)
        *to++ = *from++;
}

/* Copies the remaining bytes to the start of the last vector, not to its end. */
void broken_copy_tail_overlap(void *dst, const void *src, size_t size) {
    unsigned char *to = dst;
    const unsigned char *from = src;
    const size_t whole = size / VECTOR_BYTES * VECTOR_BYTES;
    const size_t tail = size - whole;
    broken_copy_not(to, from, whole);
    if (whole)
        broken_copy_not(to + size - VECTOR_BYTES, from + size - VECTOR_BYTES, tail);
    else
        broken_copy_not(to, from, size);
}

void broken_copy_whole_words(void *dst, const void *src, size_t size) {
    unsigned char *to = dst;
    broken_copy_not(to, src, size);
    if (size % 8)
        memset(to + size, 0, 8 - size % 8);
}

/* Copies up to 63 bytes as two halves of a vector, the second behind the first, not at the end. */
void broken_copy_second_half(void *dst, const void *src, size_t size) {
    enum { HALF = 32 };
    const size_t part = size < HALF ? size : HALF;
    if (size >= 2 * HALF) {
        broken_copy_not(dst, src, size);
        return;
    }
    broken_copy_not(dst, src, part);
    if (size > HALF)
        broken_copy_not((unsigned char *)dst + HALF, (const unsigned char *)src + HALF, part);
}

void broken_copy_64_kib(void *dst, const void *src, size_t size) {
    broken_copy_not(dst, src, size & 0xffff);
}

void broken_copy_reads_past(void *dst, const void *src, size_t size) {
    broken_copy_not(dst, src, size);
    (void)*((const volatile unsigned char *)src + size);
}

void broken_copy_reads_before(void *dst, const void *src, size_t size) {
    broken_copy_not(dst, src, size);
    (void)*((const volatile unsigned char *)src - 1);
}

/* Writes the same value back, so that only a page that faults reveals the write. */
void broken_copy_writes_before(void *dst, const void *src, size_t size) {
    volatile unsigned char *before = (unsigned char *)dst - 1;
    broken_copy_not(dst, src, size);
    if (size)
        *before = *before;
}

/* Copies the first byte first: wrong if the target begins inside the source. */
void broken_copy_upwards(void *dst, const void *src, size_t size) {
    broken_copy_not(dst, src, size);
}

/*
 * Copies blocks to aligned addresses, but stores the unaligned first bytes before the blocks, not
 * after them.
 */
void broken_copy_first_vector(void *dst, const void *src, size_t size) {
    unsigned char first[VECTOR_BYTES];
    const size_t cut = VECTOR_BYTES - (uintptr_t)dst % VECTOR_BYTES;
    if ((uintptr_t)dst >= (uintptr_t)src || size < 2 * VECTOR_BYTES) {
        memmove(dst, src, size);
        return;
    }
    memcpy(first, src, VECTOR_BYTES);
    memcpy(dst, first, VECTOR_BYTES);
    memmove((unsigned char *)dst + cut, (const unsigned char *)src + cut, size - cut);
}

/* Moves wrongly if the size is at least a page. */
void broken_copy_pages_upwards(void *dst, const void *src, size_t size) {
    if (size < 4096)
        memmove(dst, src, size);
    else
        broken_copy_not(dst, src, size);
}

void broken_copy_move_reads_past(void *dst, const void *src, size_t size) {
    memmove(dst, src, size);
    (void)*((const volatile unsigned char *)src + size);
}
