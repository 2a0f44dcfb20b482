/* SPDX-License-Identifier: MIT */
/* The stack that call_<arch>.c lends to kernels: canaries, what they may use, and canaries. */
#ifndef CARRY_TESTS_CALL_STACK_H
#define CARRY_TESTS_CALL_STACK_H

#include <stdint.h>

#include "harness/verdict.h"

/* Where the stack pointer stands before the call; aligned to 64 bytes. Canaries lie from there on,
 * where the frame of the kernel's caller would be. */
unsigned char *call_stack_top(void);

/* Names what was overwritten, and repairs it. */
void call_stack_judge(struct verdict *verdict);

/* A register that holds a 32-bit argument; its upper half means nothing, so `dirty` fills it. */
uint64_t call_extend(uint32_t value, bool dirty);

#endif
