/* SPDX-License-Identifier: MIT */
/* The loops are in assembly, because compilers would replace them with calls of these functions. */
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t size) {
    void *to = dst;
    uint64_t word;
    __asm__ volatile("b 2f\n"
                     "1: ldr %[word], [%[from]], #8\n\t"
                     "str %[word], [%[to]], #8\n"
                     "2: subs %[size], %[size], #8\n\t"
                     "b.hs 1b\n\t"
                     "adds %[size], %[size], #8\n\t"
                     "b.eq 4f\n"
                     "3: ldrb %w[word], [%[from]], #1\n\t"
                     "strb %w[word], [%[to]], #1\n\t"
                     "subs %[size], %[size], #1\n\t"
                     "b.ne 3b\n"
                     "4:"
                     : [to] "+r"(to), [from] "+r"(src), [size] "+r"(size), [word] "=&r"(word)
                     :
                     : "memory", "cc");
    return dst;
}

void *memset(void *dst, int value, size_t size) {
    void *to = dst;
    uint64_t word = (uint8_t)value * UINT64_C(0x0101010101010101);
    __asm__ volatile("b 2f\n"
                     "1: str %[word], [%[to]], #8\n"
                     "2: subs %[size], %[size], #8\n\t"
                     "b.hs 1b\n\t"
                     "adds %[size], %[size], #8\n\t"
                     "b.eq 4f\n"
                     "3: strb %w[word], [%[to]], #1\n\t"
                     "subs %[size], %[size], #1\n\t"
                     "b.ne 3b\n"
                     "4:"
                     : [to] "+r"(to), [size] "+r"(size)
                     : [word] "r"(word)
                     : "memory", "cc");
    return dst;
}
