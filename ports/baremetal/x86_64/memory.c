/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

/* Copies words: in emulators, each repetition of a string instruction costs as much as an
   instruction. */
void *memcpy(void *restrict dst, const void *restrict src, size_t size) {
    void *to = dst;
    size_t words = size / 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(src), "+c"(words) : : "memory");
    size %= 8;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(src), "+c"(size) : : "memory");
    return dst;
}

void *memset(void *dst, int value, size_t size) {
    void *to = dst;
    size_t words = size / 8;
    uint64_t word = (uint8_t)value * UINT64_C(0x0101010101010101);
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
    size %= 8;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(word) : "memory");
    return dst;
}
