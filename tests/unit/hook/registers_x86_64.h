/* SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef CARRY_TESTS_HOOK_REGISTERS_X86_64_H
#define CARRY_TESTS_HOOK_REGISTERS_X86_64_H

/* struct callee_registers: rdi, rsi, rdx, rcx, r8, r9, rax, r10; rbx, rbp, r12 to r15; xmm0 to
 * xmm7. */
#define CALLEE_PASSED  8
#define CALLEE_KEPT    6
#define CALLEE_RESULTS 2 /* vectors */
#define PASSED_RESULT  6 /* rax */
#define PASSED_SECOND  2 /* rdx */
#define KEPT_FRAME     1 /* rbp */

#ifdef __ASSEMBLER__

/* GENERAL and VECTORS each load or store one part of the struct callee_registers at \base. */
.macro GENERAL op, base, regs:vararg
    .set .Lat, 0
    .irp reg, \regs
    .ifc \op, load
    mov     .Lat(\base), %\reg
    .else
    mov     %\reg, .Lat(\base)
    .endif
    .set .Lat, .Lat + 8
    .endr
.endm

.macro VECTORS op, base
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .ifc \op, load
    movups  112 + \i * 16(\base), %xmm\i
    .else
    movups  %xmm\i, 112 + \i * 16(\base)
    .endif
    .endr
.endm

/* Stores the received registers to callee_seen, and returns rdi, rsi, rdx, rcx, r8, r9, rax and
 * the vectors of callee_results. */
.macro TAKE_REGISTERS
    push    %r11
    mov     callee_seen@GOTPCREL(%rip), %r11
    GENERAL store, %r11, rdi, rsi, rdx, rcx, r8, r9, rax, r10, rbx, rbp, r12, r13, r14, r15
    VECTORS store, %r11
    mov     callee_results@GOTPCREL(%rip), %r11
    GENERAL load, %r11, rdi, rsi, rdx, rcx, r8, r9, rax
    VECTORS load, %r11
    pop     %r11
    ret
.endm

#endif

#endif
