/* SPDX-License-Identifier: MIT */
/* Recognises and writes the NOPs of x86-64 that the manuals recommend (Intel SDM vol. 2, NOP). */
#ifndef CARRY_TOOLS_NOPS_H
#define CARRY_TOOLS_NOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOP_BYTES_MAX 9

/* Checks whether the bytes are the recommended NOP of this size, at most NOP_BYTES_MAX. */
bool nops_is_one(const uint8_t *bytes, size_t size);

/* Fills the bytes with NOPs, the longest first. */
void nops_fill(uint8_t *bytes, size_t size);

#endif
