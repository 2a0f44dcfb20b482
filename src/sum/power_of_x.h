/* SPDX-License-Identifier: MIT */
/* For CRC32c kernels in assembly: powers of x modulo P, in the reversed order of bits of CRCs. */
/* clang-format off */
#ifndef CARRY_SUM_POWER_OF_X_H
#define CARRY_SUM_POWER_OF_X_H

/* \name = x^\power modulo P. */
.macro POWER_OF_X name, power
    .set \name, 0x80000000
    .rept \power
    .set \name, (\name >> 1) ^ (0x82f63b78 & -(\name & 1))
    .endr
.endm

#endif
