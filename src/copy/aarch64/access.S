/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"
#include "base/fault_aarch64.h"

/*
 * w0 = 1, and *value = *src of `size` bytes; 0 if src cannot be read
 *
 * bool carry_read_once(void *value, const void *src, size_t size)
 *
 * In:       x0 value, x1 src, x2 size (1, 2, 4 or 8)
 * Out:      w0
 * Clobbers: x3, x16, flags
 */
CARRY_FUNCTION carry_read_once
    cmp     x2, #4
    b.eq    4f
    b.hi    8f
    tbnz    x2, #0, 1f
    CARRY_LOAD 0, ldrh w3, [x1]
    strh    w3, [x0]
    mov     w0, #1
    ret
1:  CARRY_LOAD 0, ldrb w3, [x1]
    strb    w3, [x0]
    mov     w0, #1
    ret
4:  CARRY_LOAD 0, ldr w3, [x1]
    str     w3, [x0]
    mov     w0, #1
    ret
8:  CARRY_LOAD 0, ldr x3, [x1]
    str     x3, [x0]
    mov     w0, #1
    ret
.Lload_faulted:
    mov     w0, #0
    ret
CARRY_END carry_read_once

/* Writes a byte's own value back to it: faults if the byte cannot be written. Concurrent writes are
 * not lost. */
.macro WRITE_BACK address
.Lagain_\@:
    CARRY_STORE 0, ldxrb w5, [\address]
    CARRY_STORE 0, stxrb w6, w5, [\address]
    cbnz    w6, .Lagain_\@
.endm

/*
 * w0 = 1, and *dst = *value of `size` bytes; 0 if dst cannot be written
 *
 * bool carry_write_once(void *dst, const void *value, size_t size)
 *
 * CPUs split a store that crosses the end of a page, and may write one part although the other part
 * faults. So before such a store, the first and the last byte are written back.
 *
 * In:       x0 dst, x1 value, x2 size (1, 2, 4 or 8)
 * Out:      w0
 * Clobbers: x3 to x6, x16, flags
 */
CARRY_FUNCTION carry_write_once
    add     x3, x0, x2
    sub     x3, x3, #1
    eor     x4, x0, x3
    tbz     x4, #12, .Lin_page
    WRITE_BACK x0
    WRITE_BACK x3
.Lin_page:
    cmp     x2, #4
    b.eq    4f
    b.hi    8f
    tbnz    x2, #0, 1f
    ldrh    w3, [x1]
    CARRY_STORE 0, strh w3, [x0]
    mov     w0, #1
    ret
1:  ldrb    w3, [x1]
    CARRY_STORE 0, strb w3, [x0]
    mov     w0, #1
    ret
4:  ldr     w3, [x1]
    CARRY_STORE 0, str w3, [x0]
    mov     w0, #1
    ret
8:  ldr     x3, [x1]
    CARRY_STORE 0, str x3, [x0]
    mov     w0, #1
    ret
.Lstore_faulted:
    mov     w0, #0
    ret
CARRY_END carry_write_once

CARRY_NOTES
