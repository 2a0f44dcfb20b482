/* SPDX-License-Identifier: MIT */
/* Copies that bypass the caches. */
#include "copy/copy_internal.h"

/*
 * From this size on, stores that bypass the caches cost less if neither side is cached: 11 % less
 * than rep movsb at 32 KiB, 20 % at 64 KiB, 30 % at 4 MiB; for smaller sizes up to 13 % more (Zen
 * 5). If both sides are cached, they cost several times as much.
 */
#define STREAM_MIN ((size_t)32 << 10)
#define LINE_BYTES 64

void carry_copy_stream(void *dst, const void *src, size_t size) {
    unsigned char *to = dst;
    const unsigned char *from = src;
    if (size >= STREAM_MIN) {
        size_t head = -(uintptr_t)to % LINE_BYTES;
        size_t lines = (size - head) / LINE_BYTES * LINE_BYTES;
        carry_copy(to, from, head);
        carry_copy_lines(to + head, from + head, lines);
        to += head + lines;
        from += head + lines;
        size -= head + lines;
    }
    carry_copy(to, from, size);
}
