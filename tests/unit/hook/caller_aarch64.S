/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "unit/hook/registers_aarch64.h"

/*
 * void call_with(int which, const struct callee_registers *in, struct callee_registers *out)
 *
 * Saves x19 to x29 and d8 to d15, which calls preserve, x30, and `out` on the stack.
 */
    .text
    .globl call_with
    .type call_with, %function
call_with:
    .cfi_startproc
    sub     sp, sp, #256
    mov     x9, sp
    KEPT    stp, str
    stp     x30, x2, [sp, #232]
    mov     x9, x1
    mov     w11, w0
    VECTORS ldp
    KEPT    ldp, ldr
    GENERAL ldp
    cbnz    w11, 1f
    bl      callee_registers
    b       2f
1:  bl      entry_registers
2:  ldr     x9, [sp, #240]
    GENERAL stp
    KEPT    stp, str
    VECTORS stp
    mov     x9, sp
    KEPT    ldp, ldr
    ldr     x30, [sp, #232]
    add     sp, sp, #256
    ret
    .cfi_endproc
    .size call_with, . - call_with

/*
 * uint64_t call_at_end(void *end, uintptr_t stub)
 */
    .globl call_at_end
    .type call_at_end, %function
call_at_end:
    .cfi_startproc
    stp     x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov     x29, sp
    .cfi_def_cfa_register x29
    sub     sp, x0, #32
    mov     x17, x1
    .irp n, 9, 10, 11, 12
    mov     x8, #\n
    str     x8, [sp, #8 * (\n - 9)]
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    mov     x\n, #\n + 1
    .endr
    blr     x17
    mov     sp, x29
    .cfi_def_cfa_register sp
    ldp     x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size call_at_end, . - call_at_end

/* A patchable entry as GCC emits it. */
    .globl entry_registers
    .type entry_registers, %function
entry_registers:
    .cfi_startproc
    hint    #34
.Lentry:
    .fill   5, 4, 0xd503201f
    TAKE_REGISTERS
    .cfi_endproc
    .size entry_registers, . - entry_registers

    .section __patchable_function_entries, "awo", %progbits, .text
    .balign 8
    .quad .Lentry

    .section .note.GNU-stack, "", %progbits
