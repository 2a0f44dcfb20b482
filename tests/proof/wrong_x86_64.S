/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are wrong in one thing each, which a prover may overlook, and right ones of the same
 * parts. Nobody calls them: test_wrong_kernels.py tries to prove them, and must fail.
 */
    .intel_syntax noprefix
    .macro FUNCTION name
    .globl \name
    .type \name, @function
\name:
    .endm

    .macro END name
    .size \name, . - \name
    .endm

    /* Adds rsi bytes from rdi on to rax, and returns the sum. */
    .macro SUM_REST
11: cmp rsi, 2
    jb 12f
    movzx ecx, WORD PTR [rdi]
    add rax, rcx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    jmp 11b
12: test rsi, rsi
    je 13f
    movzx ecx, BYTE PTR [rdi]
    add rax, rcx
    adc rax, 0
13: FOLD
    ret
    .endm

    .macro FOLD
    mov rcx, rax
    shr rcx, 32
    add eax, ecx
    adc eax, 0
    .endm

    /* Copies rdx bytes from rsi to rdi, and returns. */
    .macro COPY_REST
21: test rdx, rdx
    je 22f
    mov al, [rsi]
    mov [rdi], al
    add rsi, 1
    add rdi, 1
    sub rdx, 1
    jmp 21b
22: ret
    .endm

    /* Jumps where the ranges of rdx bytes from rdi and from rsi on overlap. */
    .macro WHERE_THEY_OVERLAP to
    mov rax, rdi
    sub rax, rsi
    cmp rax, rdx
    jb \to
    neg rax
    cmp rax, rdx
    jb \to
    .endm

    .hidden sum_right, carry_copy_generic, carry_copy_move_generic, carry_copy_pointer
    .text

FUNCTION sum_right
    mov eax, edx
    SUM_REST
END sum_right

FUNCTION copy_right
    COPY_REST
END copy_right

/* What others go on in; sum_right is one of these, too. */
FUNCTION carry_copy_generic
    COPY_REST
END carry_copy_generic

/* Right where the ranges are apart. */
FUNCTION carry_copy_move_generic
    WHERE_THEY_OVERLAP 1f
    vzeroupper
    jmp carry_copy_generic
1:  ret
END carry_copy_move_generic

FUNCTION move_apart_right
    WHERE_THEY_OVERLAP carry_copy_move_generic
    jmp carry_copy_generic
END move_apart_right

/* --- Jumps --- */

FUNCTION copy_jumps_by_register
    lea rax, 22f[rip]
    jmp rax
    COPY_REST
END copy_jumps_by_register

/* Some CPUs take such a prefix to mean an address of 16 bits. */
FUNCTION copy_jump_with_prefix
    cmp rdx, 100
    .byte 0x66, 0x72, 1f - . - 1
    jmp 21f
1:  ret
    COPY_REST
END copy_jump_with_prefix

/* JE of 32 bits, which is one of 16 bits and two zeros to objdump. */
FUNCTION copy_long_jump_with_prefix
    cmp rdx, 100
    .byte 0x66, 0x0f, 0x84
    .long 1f - . - 4
    jmp 21f
1:  ret
    COPY_REST
END copy_long_jump_with_prefix

FUNCTION copy_call_pops_more
    call 1f
    jmp 21f
1:  ret 8
    COPY_REST
END copy_call_pops_more

FUNCTION move_calls_pointer
    WHERE_THEY_OVERLAP carry_copy_move_generic
    sub rsp, 8
    call carry_copy_pointer[rip]
    add rsp, 8
    ret
END move_calls_pointer

FUNCTION move_jumps_by_pointer
    WHERE_THEY_OVERLAP carry_copy_move_generic
    jmp carry_copy_pointer[rip]
    jmp carry_copy_generic
END move_jumps_by_pointer

/* --- Loops that other executions reach, too: with more than 1,000,000 bytes another state --- */

FUNCTION copy_adds_to_rbx
    cmp rdx, 600000
    jb 21f
    cmp rdx, 1000000
    jae 1f
    jmp 21f
1:  add rbx, 1
    COPY_REST
END copy_adds_to_rbx

FUNCTION copy_moves_stack
    cmp rdx, 600000
    jb 21f
    cmp rdx, 1000000
    jae 1f
    jmp 21f
1:  lea rsp, [rsp - 8]
    COPY_REST
END copy_moves_stack

/* Sums up what the upper half of ymm0 had at the call, where VMOVD does not clear it. */
FUNCTION sum_upper_half
    cmp rsi, 600000
    jb sum_right
    cmp rsi, 1000000
    jae 1f
    vmovd xmm0, edx
    jmp 2f
1:  movd xmm0, edx
2:  xor eax, eax
3:  movzx ecx, WORD PTR [rdi]
    add rax, rcx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    cmp rsi, 2
    jae 3b
    vextracti128 xmm1, ymm0, 1
    vmovq rcx, xmm1
    add rax, rcx
    adc rax, 0
    vmovd ecx, xmm0
    add rax, rcx
    adc rax, 0
    vzeroupper
    SUM_REST
END sum_upper_half

FUNCTION copy_order_in_vector
    cmp rdx, 600000
    jb 21f
    vmovq xmm0, [rsi]
    cmp rdx, 1000000
    jae 1f
    vpshufb xmm0, xmm0, low[rip]
    jmp 2f
1:  vpshufb xmm0, xmm0, high[rip]
2:  vmovq [rdi], xmm0
    add rsi, 8
    add rdi, 8
    sub rdx, 8
    cmp rdx, 8
    jb 21f
    vmovq xmm0, [rsi]
    vpshufb xmm0, xmm0, low[rip]
    jmp 2b
    COPY_REST
END copy_order_in_vector

FUNCTION copy_order_in_register
    test rdx, rdx
    je 22f
    xor eax, eax
    cmp rdx, 600000
    jb 1f
    cmp rdx, 1000000
    jae 2f
1:  mov al, [rsi]
    mov ah, 1
    jmp 3f
2:  mov ah, [rsi + 1]
3:  mov [rdi], al
    add rsi, 1
    add rdi, 1
    sub rdx, 1
    je 22f
    mov al, [rsi]
    mov ah, 1
    jmp 3b
22: ret
END copy_order_in_register

/* Stores the first byte everywhere. */
FUNCTION copy_old_byte_on_stack
    test rdx, rdx
    je 2f
    mov al, [rsi]
    mov [rsp - 8], al
1:  mov al, [rsp - 8]
    mov [rdi], al
    add rsi, 1
    add rdi, 1
    sub rdx, 1
    jne 1b
2:  ret
END copy_old_byte_on_stack

    .section .rodata
    .balign 16
low: .byte 0, 1, 2, 3, 4, 5, 6, 7, 128, 128, 128, 128, 128, 128, 128, 128
high: .byte 128, 128, 128, 128, 128, 128, 128, 128, 0, 1, 2, 3, 4, 5, 6, 7
    .data
carry_copy_pointer: .quad 0
    .section .note.GNU-stack, "", @progbits
