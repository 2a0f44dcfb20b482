/* SPDX-License-Identifier: MIT */
/*
 * Macros for the loads and stores of AArch64 assembly code that survives faults. base/fault_asm.h
 * does the same for x86-64, with rows of the same table.
 *
 *     CARRY_LOAD 0, ldp q0, q1, [x1]
 *     CARRY_STORE 32, stp q2, q3, [x0, #32]
 *     CARRY_BYTES 0, ldrb w11, [x1]
 *
 * When such an instruction faults, execution continues at the label .Lload_faulted, .Lstore_faulted
 * or .Lbytes_faulted of the file. All registers are unchanged except x16 = page + done.
 * base/fault_asm.h describes `page`; `done` is the first operand: how many bytes from x0 on are
 * copied already.
 *
 * A store must not cross the end of a page: CPUs split it there, and may write one part although
 * the other part faults (Arm Cortex-A76 TRM, A.2). A load that faults changes at most the registers
 * that it loads.
 *
 * The CPU may ignore the top byte of addresses (TBI), and Linux reports a faulting address without
 * it. So pages and pointers are compared without that byte.
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_AARCH64_H
#define CARRY_BASE_FAULT_AARCH64_H

#include "base/fault_rows.h"
#include "base/fault_table.h"

#define CARRY_DONE_BITS    9
#define CARRY_PAGE_BYTES   4096
#define CARRY_ADDRESS_BITS 56

.macro CARRY_FAULT_ROW recovery, done, instruction:vararg
.Lmay_fault_\@:
    \instruction
    CARRY_FAULT_ENTRY .Lmay_fault_\@, \recovery, \done
.endm

/*
 * Ends a copy that survives faults: defines the labels above. Requires, at each access that may
 * fault: [x1, x1 + x2) must still be copied to [x0, x0 + x2), all bytes before these ranges are
 * copied, and no byte after the first `done` bytes is written. So the bytes from there up to the
 * faulting page can still be copied. They are copied one by one. If one of them faults, the copy
 * ends there: the other side faults, or a page was mapped or unmapped after the fault. Returns x0 =
 * the bytes left, x1 = -1.
 *
 * Clobbers: x2, x9 to x11, x16, flags
 */
.macro CARRY_RECOVER
.Lload_faulted:
    mov     x9, x1
    b       .Lfaulted
.Lstore_faulted:
    mov     x9, x0
.Lfaulted:
    and     x10, x16, #(1 << CARRY_DONE_BITS) - 1
    add     x0, x0, x10
    add     x1, x1, x10
    add     x9, x9, x10
    sub     x2, x2, x10
    and     x16, x16, #-CARRY_PAGE_BYTES
    sbfx    x16, x16, #0, #CARRY_ADDRESS_BITS
    sbfx    x9, x9, #0, #CARRY_ADDRESS_BITS
    subs    x10, x16, x9
    csel    x10, x10, xzr, hi
    cmp     x10, x2
    csel    x10, x10, x2, lo
.Lnext_byte:
    cbz     x10, .Lbytes_faulted
    CARRY_BYTES 0, ldrb w11, [x1]
    CARRY_BYTES 0, strb w11, [x0]
    add     x0, x0, #1
    add     x1, x1, #1
    sub     x2, x2, #1
    sub     x10, x10, #1
    b       .Lnext_byte
.Lbytes_faulted:
    mov     x0, x2
    mov     x1, #-1
    ret
.endm

#endif
