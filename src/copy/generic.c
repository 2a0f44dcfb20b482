/* SPDX-License-Identifier: MIT */
/*
 * The portable kernel. An empty assembly statement in each iteration hides from the compiler that
 * the loop is a memcpy(). Otherwise the compiler would call memcpy(), which may be this function.
 */
#include "copy/copy_internal.h"

struct word {
    uintptr_t bits;
} __attribute__((packed, may_alias));

#define WORD_BYTES  sizeof(struct word)
#define BLOCK_BYTES (4 * WORD_BYTES)

#define HIDE(pointer) __asm__("" : "+r"(pointer))

static void copy_block(unsigned char *to, const unsigned char *from) {
    const struct word *source = (const struct word *)from;
    struct word *target = (struct word *)to;
    uintptr_t a = source[0].bits, b = source[1].bits, c = source[2].bits, d = source[3].bits;
    target[0].bits = a;
    target[1].bits = b;
    target[2].bits = c;
    target[3].bits = d;
}

void carry_copy_generic(void *dst, const void *src, size_t size) {
    unsigned char *to = dst;
    const unsigned char *from = src;
    for (; size >= BLOCK_BYTES; to += BLOCK_BYTES, from += BLOCK_BYTES, size -= BLOCK_BYTES) {
        HIDE(from);
        copy_block(to, from);
    }
    for (; size >= WORD_BYTES; to += WORD_BYTES, from += WORD_BYTES, size -= WORD_BYTES) {
        HIDE(from);
        *(struct word *)to = *(const struct word *)from;
    }
    for (; size; to++, from++, size--) {
        HIDE(from);
        *to = *from;
    }
}
