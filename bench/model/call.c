/* SPDX-License-Identifier: MIT */
/*
 * Calls functions, for an emulator that logs the instructions that it executes. Its standard input
 * has lines
 *
 *     FUNCTION ARGUMENT...       a function and four arguments; the function may take fewer
 *
 * of hexadecimal numbers. `next_call` is executed before each call. Addresses come from this
 * program's symbols; `source` and `target` are for arguments.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define BUFFER_BYTES (1 << 20)
#define PAGE_BYTES   4096

extern uint8_t source[], target[];
__attribute__((aligned(PAGE_BYTES))) uint8_t source[BUFFER_BYTES], target[BUFFER_BYTES];

typedef uintptr_t function(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

void next_call(void);
__attribute__((noinline)) void next_call(void) {
    __asm__ volatile("");
}

int main(void) {
    uintptr_t called, first, second, third, fourth;
    while (scanf("%" SCNxPTR "%" SCNxPTR "%" SCNxPTR "%" SCNxPTR "%" SCNxPTR, &called, &first,
                 &second, &third, &fourth) == 5) {
        next_call();
        ((function *)called)(first, second, third, fourth);
    }
    return 0;
}
