/* SPDX-License-Identifier: MIT */
/* Powers of x modulo P for CRC32c kernels in assembly, with bits reversed as in CRCs. */
/* clang-format off */
#ifndef CARRY_SUM_POWER_OF_X_H
#define CARRY_SUM_POWER_OF_X_H

/* Sets \name = x^\power modulo P. */
.macro POWER_OF_X name, power
    .set \name, 0x80000000
    .rept \power
    .set \name, (\name >> 1) ^ (0x82f63b78 & -(\name & 1))
    .endr
.endm

#endif
