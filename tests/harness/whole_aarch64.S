/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "harness/whole_aarch64.h"

    .arch_extension sve

/* After the words: x29, x30, x19 to x28, d8 to d15, and `out`. */
#define CALL_OUT   160
#define CALL_BYTES 176

.macro OF_CALLER pair
    \pair   x19, x20, [sp, #16]
    \pair   x21, x22, [sp, #32]
    \pair   x23, x24, [sp, #48]
    \pair   x25, x26, [sp, #64]
    \pair   x27, x28, [sp, #80]
    \pair   d8, d9, [sp, #96]
    \pair   d10, d11, [sp, #112]
    \pair   d12, d13, [sp, #128]
    \pair   d14, d15, [sp, #144]
.endm

/* void whole_call(const void *function, const struct whole *in, struct whole *out) */
    .text
    .globl whole_call
    .type whole_call, %function
    .balign 64
whole_call:
    .cfi_startproc
    hint    #34
    stp     x29, x30, [sp, #-CALL_BYTES]!
    .cfi_def_cfa_offset CALL_BYTES
    .cfi_offset x29, -CALL_BYTES
    .cfi_offset x30, 8 - CALL_BYTES
    OF_CALLER stp
    .set    slot, 16 - CALL_BYTES
    .irp n, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, \
            d8, d9, d10, d11, d12, d13, d14, d15
    .cfi_offset \n, slot
    .set    slot, slot + 8
    .endr
    str     x2, [sp, #CALL_OUT]
    sub     sp, sp, #8 * WHOLE_WORDS
    .cfi_adjust_cfa_offset 8 * WHOLE_WORDS
    add     x9, x1, #WHOLE_AT_WORDS
    mov     x10, #0
1:  ldr     x11, [x9, x10, lsl #3]
    str     x11, [sp, x10, lsl #3]
    add     x10, x10, #1
    cmp     x10, #WHOLE_WORDS
    b.lo    1b

    mov     x15, x0
    WHOLE_SYMBOL x9, whole_mode
    ldr     x9, [x9]
    tbz     x9, #WHOLE_STREAMING, 3f
    msr     S0_3_C4_C3_3, xzr                   /* smstart sm */
3:  add     x16, x1, #WHOLE_AT_VECTORS
    WHOLE_VECTORS ldr
    mov     x17, x15
    mov     x16, x1
    WHOLE_CALLEE_SAVED ldp, ldr, x16
    WHOLE_GENERAL ldp, ldr, x16
    blr     x17

    ldr     x16, [sp, #8 * WHOLE_WORDS + CALL_OUT]
    WHOLE_GENERAL stp, str, x16
    WHOLE_CALLEE_SAVED stp, str, x16
    mov     x9, x16
    add     x16, x16, #WHOLE_AT_VECTORS
    WHOLE_VECTORS str
    WHOLE_SYMBOL x10, whole_mode
    ldr     x10, [x10]
    tbz     x10, #WHOLE_STREAMING, 3f
    msr     S0_3_C4_C2_3, xzr                   /* smstop sm */
3:  add     x9, x9, #WHOLE_AT_WORDS
    mov     x10, #0
1:  ldr     x11, [sp, x10, lsl #3]
    str     x11, [x9, x10, lsl #3]
    add     x10, x10, #1
    cmp     x10, #WHOLE_WORDS
    b.lo    1b
    add     sp, sp, #8 * WHOLE_WORDS
    .cfi_adjust_cfa_offset -(8 * WHOLE_WORDS)
    OF_CALLER ldp
    ldp     x29, x30, [sp], #CALL_BYTES
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size whole_call, . - whole_call

    .globl whole_target
    .type whole_target, %function
    .balign 64
whole_target:
    .cfi_startproc
    hint    #34
    WHOLE_TAKE
    .cfi_endproc
    .size whole_target, . - whole_target

/* whole_entry is in pages of its own, because some tests make them guarded (PROT_BTI). */
    .section .text.whole_entry, "ax", %progbits
    .globl whole_entry
    .type whole_entry, %function
    .balign 65536
whole_entry:
    .cfi_startproc
.Lentry:
    nop
    WHOLE_TAKE
    .cfi_endproc
    .size whole_entry, . - whole_entry
    .balign 65536

    .section __patchable_function_entries, "awo", %progbits, .text.whole_entry
    .balign 8
    .quad   .Lentry

/*
 * void whole_spoil(void): overwrites all registers except those that the base standard preserves,
 * such as the lower halves of v8 to v15
 */
    .text
    .globl whole_spoil
    .type whole_spoil, %function
    .balign 64
whole_spoil:
    .cfi_startproc
    hint    #34
    WHOLE_SYMBOL x9, whole_mode
    ldr     x9, [x9]
    tbz     x9, #WHOLE_SCALABLE, 1f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    mov     z\n\().d, #-1
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    pfalse  p\n\().b
    .endr
1:  .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    mov     v\n\().8b, v\n\().8b                /* clears the upper part of the register */
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    movi    v\n\().16b, #0x5a
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
    mov     x\n, #-\n - 1
    .endr
    ret
    .cfi_endproc
    .size whole_spoil, . - whole_spoil

/* size_t whole_vector_bytes(void) */
    .globl whole_vector_bytes
    .type whole_vector_bytes, %function
whole_vector_bytes:
    .cfi_startproc
    hint    #34
    WHOLE_SYMBOL x9, whole_mode
    ldr     x9, [x9]
    mov     x0, #16
    tbz     x9, #WHOLE_SCALABLE, 1f
    tbz     x9, #WHOLE_STREAMING, 2f
    msr     S0_3_C4_C3_3, xzr
2:  rdvl    x0, #1
    tbz     x9, #WHOLE_STREAMING, 1f
    msr     S0_3_C4_C2_3, xzr
1:  ret
    .cfi_endproc
    .size whole_vector_bytes, . - whole_vector_bytes

    .bss
    .balign 16
    .globl whole_mode, whole_seen, whole_given
    .type whole_mode, %object
    .size whole_mode, 8
whole_mode:
    .zero   16
    .type whole_seen, %object
    .size whole_seen, WHOLE_AT_VECTORS + 34 * 256
whole_seen:
    .zero   WHOLE_AT_VECTORS + 34 * 256
    .type whole_given, %object
    .size whole_given, WHOLE_AT_VECTORS + 34 * 256
whole_given:
    .zero   WHOLE_AT_VECTORS + 34 * 256

    .section .note.GNU-stack, "", %progbits
