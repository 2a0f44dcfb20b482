/* SPDX-License-Identifier: MIT */
/* Copies between ranges that overlap: blocks are loaded whole before they are stored. */
#include <carry/copy.h>

#define BLOCK_BYTES 64

typedef uint64_t block __attribute__((vector_size(BLOCK_BYTES), aligned(1), may_alias));

/* To a lower address, from the first byte on: what is overwritten has been loaded before. */
static void move_down(unsigned char *to, const unsigned char *from, size_t size) {
    for (; size >= BLOCK_BYTES; to += BLOCK_BYTES, from += BLOCK_BYTES, size -= BLOCK_BYTES)
        *(block *)to = *(const block *)from;
    for (; size; to++, from++, size--) {
        __asm__("" : "+r"(from)); /* no call of memmove() */
        *to = *from;
    }
}

/* To a higher one, from the last byte on. */
static void move_up(unsigned char *to, const unsigned char *from, size_t size) {
    for (; size >= BLOCK_BYTES; size -= BLOCK_BYTES)
        *(block *)(to + size - BLOCK_BYTES) = *(const block *)(from + size - BLOCK_BYTES);
    while (size--) {
        __asm__("" : "+r"(from));
        to[size] = from[size];
    }
}

void carry_copy_move(void *dst, const void *src, size_t size) {
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    if (to - from >= size && from - to >= size)
        carry_copy(dst, src, size);
    else if (to < from)
        move_down(dst, src, size);
    else
        move_up(dst, src, size);
}
