/* SPDX-License-Identifier: MIT */
/*
 * The portable move. It starts at the end of the source that the target would overwrite, and loads
 * each block as a whole before it stores the block. Less than a block is copied through a buffer.
 */
#include "copy/copy_internal.h"

#define BLOCK_BYTES 64

typedef uint64_t block __attribute__((vector_size(BLOCK_BYTES), aligned(1), may_alias));

static void move_part(unsigned char *to, const unsigned char *from, size_t size) {
    unsigned char part[BLOCK_BYTES];
    carry_copy_generic(part, from, size);
    carry_copy_generic(to, part, size);
}

static void move_down(unsigned char *to, const unsigned char *from, size_t size) {
    for (; size >= BLOCK_BYTES; to += BLOCK_BYTES, from += BLOCK_BYTES, size -= BLOCK_BYTES)
        *(block *)to = *(const block *)from;
    move_part(to, from, size);
}

static void move_up(unsigned char *to, const unsigned char *from, size_t size) {
    for (; size >= BLOCK_BYTES; size -= BLOCK_BYTES)
        *(block *)(to + size - BLOCK_BYTES) = *(const block *)(from + size - BLOCK_BYTES);
    move_part(to, from, size);
}

void carry_copy_move_generic(void *dst, const void *src, size_t size) {
    const uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    if (to - from >= size && from - to >= size)
        carry_copy_generic(dst, src, size);
    else if (to < from)
        move_down(dst, src, size);
    else
        move_up(dst, src, size);
}
