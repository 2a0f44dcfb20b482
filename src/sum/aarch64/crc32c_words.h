/* SPDX-License-Identifier: MIT */
/* The CRC32c of bytes that are too few for several streams. */
/* clang-format off */
#ifndef CARRY_SUM_AARCH64_CRC32C_WORDS_H
#define CARRY_SUM_AARCH64_CRC32C_WORDS_H

/* w2 = the CRC w2 continued by the x1 bytes from x0 on. Clobbers x0, x1, x3, x4, flags. */
.macro ADD_WORDS
    subs    x1, x1, #16
    b.lo    .Ltail\@
.Lwords\@:
    ldp     x3, x4, [x0], #16
    crc32cx w2, w2, x3
    crc32cx w2, w2, x4
    subs    x1, x1, #16
    b.hs    .Lwords\@
.Ltail\@:                                        /* x1 has the low bits of the size */
    tbz     x1, #3, .Lunder8\@
    ldr     x3, [x0], #8
    crc32cx w2, w2, x3
.Lunder8\@:
    tbz     x1, #2, .Lunder4\@
    ldr     w3, [x0], #4
    crc32cw w2, w2, w3
.Lunder4\@:
    tbz     x1, #1, .Lunder2\@
    ldrh    w3, [x0], #2
    crc32ch w2, w2, w3
.Lunder2\@:
    tbz     x1, #0, .Ldone\@
    ldrb    w3, [x0]
    crc32cb w2, w2, w3
.Ldone\@:
.endm

#endif
