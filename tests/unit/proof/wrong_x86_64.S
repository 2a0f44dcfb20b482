/* SPDX-License-Identifier: MIT */
/*
 * Kernels with one fault each, which a prover may overlook, and right kernels with the same parts.
 * They are never called: test_wrong_kernels.py tries to prove them, and must fail for the wrong
 * kernels.
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

    /* Adds a word to rax, and advances to the next one. */
    .macro ADD_WORD
    movzx ecx, WORD PTR [rdi]
    add rax, rcx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    .endm

    /* Adds rsi bytes at rdi to rax, and returns the sum. */
    .macro SUM_REST
11: cmp rsi, 2
    jb 12f
    ADD_WORD
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

    /* Copies by XOR with ymm3, of which PXOR clears only the lower half. */
    .macro COPY_XOR_WITH_UPPER
1:  cmp rdx, 32
    jb 2f
    pxor xmm3, xmm3
    vmovdqu ymm0, [rsi]
    vpxor ymm0, ymm0, ymm3
    vmovdqu [rdi], ymm0
    add rsi, 32
    add rdi, 32
    sub rdx, 32
    jmp 1b
2:  vzeroupper
    .endm

    /* Jumps to \to if the rdx bytes at rdi and the rdx bytes at rsi overlap. */
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

/* Right functions that, like sum_right, other functions jump to. */
FUNCTION carry_copy_generic
    COPY_REST
END carry_copy_generic

/* Right if the ranges do not overlap. */
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

/* Some CPUs truncate the target of a jump with this prefix to 16 bits. */
FUNCTION copy_jump_with_prefix
    cmp rdx, 100
    .byte 0x66, 0x72, 1f - . - 1
    jmp 21f
1:  ret
    COPY_REST
END copy_jump_with_prefix

/* JE with an offset of 32 bits. objdump decodes an offset of 16 bits, and two zeros after it. */
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

/* --- Loops that other executions reach in another state, with more than 1,000,000 bytes --- */

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

/* Adds the upper half of ymm0, which MOVD, unlike VMOVD, leaves as it was at the call. */
FUNCTION sum_upper_half
    cmp rsi, 600000
    jb sum_right
    cmp rsi, 1000000
    jae 1f
    vmovd xmm0, edx
    jmp 2f
1:  movd xmm0, edx
2:  xor eax, eax
3:  ADD_WORD
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

/* --- Loops whose effect the prover computes for all rounds at once --- */

/* Leaves the loop after the first round if there are more than 1000 bytes. */
FUNCTION summed_leaves_early
    mov eax, edx
    mov r8, rsi
    test sil, 1
    je 1f
    movzx ecx, BYTE PTR [rdi + rsi - 1]
    add rax, rcx
    sub rsi, 1
1:  test rsi, rsi
    je 3f
2:  movzx ecx, WORD PTR [rdi]
    add rax, rcx
    add rdi, 2
    sub rsi, 2
    cmp r8, 1000
    ja 3f
    test rsi, rsi
    jne 2b
3:  FOLD
    ret
END summed_leaves_early

/* Adds the carry that CMP leaves, except in the first round. */
FUNCTION summed_takes_old_carry
    cmp rsi, 80
    jb sum_right
    mov eax, edx
    mov r8d, 41
    xor edx, edx
1:  dec r8d
    je 2f
    movzx ecx, WORD PTR [rdi + rdx]
    adc rax, rcx
    add rdx, 2
    cmp rdx, 100
    jmp 1b
2:  FOLD
    mov edx, eax
    add rdi, 80
    sub rsi, 80
    jmp sum_right
END summed_takes_old_carry

/* Counts bytes 3 to 18 once too often: first in the loop over all bytes, then with their weight. */
FUNCTION summed_byte_by_byte
    cmp rsi, 20
    jne sum_right
    mov eax, edx
    xor r8d, r8d
1:  movzx ecx, BYTE PTR [rdi + r8]
    add rax, rcx
    add r8, 1
    cmp r8, 20
    jne 1b
    .irp odd, 1, 19
    movzx ecx, BYTE PTR [rdi + \odd]
    mov edx, ecx
    shl rcx, 8
    sub rcx, rdx
    add rax, rcx
    .endr
    movzx ecx, BYTE PTR [rdi + 3]
    shl rcx, 8
    add rax, rcx
    .irp word, 4, 6, 8, 10, 12, 14, 16
    movzx ecx, WORD PTR [rdi + \word]
    add rax, rcx
    .endr
    movzx ecx, BYTE PTR [rdi + 18]
    add rax, rcx
    FOLD
    ret
END summed_byte_by_byte

/* Does not count the word at 98. */
FUNCTION summed_run_of_another_loop
    cmp rsi, 102
    jne sum_right
    mov eax, edx
    xor r8d, r8d
    xor r9d, r9d
1:  movzx ecx, WORD PTR [rdi + r8]
    add r9, rcx
    add r8, 2
    cmp r8, 102
    jne 1b
    xor r8d, r8d
2:  movzx ecx, WORD PTR [rdi + r8]
    add rax, rcx
    add r8, 2
    cmp r8, 100
    jne 2b
    movzx ecx, WORD PTR [rdi + 98]
    sub rax, rcx
    movzx ecx, WORD PTR [rdi + 100]
    add rax, rcx
    FOLD
    ret
END summed_run_of_another_loop

/* Adds r8, which holds the data only after the third round. */
FUNCTION summed_uneven_loop
    cmp rsi, 8
    jne sum_right
    mov eax, edx
    .irp zero, ecx, edx, r8d, r9d, r10d
    xor \zero, \zero
    .endr
    mov r11, [rdi]
1:  mov r8, r9
    mov r9, r10
    mov r10, r11
    xor r11d, r11d
    add rdx, rcx
    add rcx, 1
    cmp rcx, 10
    jne 1b
    add rax, r8
    adc rax, 0
    FOLD
    ret
END summed_uneven_loop

/* PADDQ leaves the upper half of ymm0 as it was at the call. */
FUNCTION summed_keeps_upper_half
    cmp rsi, 80
    jne sum_right
    mov eax, edx
    xor edx, edx
    pxor xmm0, xmm0
1:  movzx ecx, WORD PTR [rdi + rdx]
    movq xmm1, rcx
    paddq xmm0, xmm1
    add rdx, 2
    cmp rdx, 80
    jne 1b
    movq rcx, xmm0
    vextracti128 xmm1, ymm0, 1
    vmovq rdx, xmm1
    add rax, rcx
    adc rax, rdx
    adc rax, 0
    vzeroupper
    FOLD
    ret
END summed_keeps_upper_half

/* --- Lemmas that depend on other lemmas --- */

/* Exchanges bytes at even and at odd places. */
FUNCTION sum_swapped
    mov eax, edx
1:  test rsi, rsi
    je 13f
2:  movzx ecx, BYTE PTR [rdi]
    shl rcx, 8
    add rax, rcx
    adc rax, 0
    sub rsi, 1
    je 13f
    movzx ecx, BYTE PTR [rdi + 1]
    add rax, rcx
    adc rax, 0
    add rdi, 2
    sub rsi, 1
    jne 2b
    jmp 1b
13: FOLD
    ret
END sum_swapped

/* Leaves out the last 8 bytes if the first 32 do not include them. */
FUNCTION copy_leaves_end
    cmp rdx, 32
    jb 21f
    cmp rdx, 48
    ja 21f
    movdqu xmm0, [rsi]
    movdqu xmm1, [rsi + 16]
    movdqu xmm2, [rsi + rdx - 24]
    movdqu [rdi], xmm0
    movdqu [rdi + 16], xmm1
    movdqu [rdi + rdx - 24], xmm2
    ret
    COPY_REST
END copy_leaves_end

/* --- Instructions that do less or more than they seem to --- */

FUNCTION copy_rep_by_32_bits
    mov rcx, rdx
    .byte 0x67, 0xf3, 0xa4              /* rep movsb [edi], [esi] */
    ret
END copy_rep_by_32_bits

/* Copies up to 4096 bytes to the stack. */
FUNCTION copy_rep_to_stack
    mov rcx, rdx
    cmp rdx, 4096
    ja 1f
    lea rdi, [rsp - 4096]
1:  rep movsb
    ret
END copy_rep_to_stack

FUNCTION copy_pushes_16_bits
    push ax
    add rsp, 8
    COPY_REST
END copy_pushes_16_bits

/* BT uses the index of a bit modulo the width of the register: it tests bit 1. */
FUNCTION copy_bit_33
    mov eax, 2
    bt eax, 33
    sbb r8, r8
    cmp r8, 0
    jne 22f
    COPY_REST
END copy_bit_33

/* PXOR faults if an address is not a multiple of 16. */
FUNCTION sum_not_aligned
    cmp rsi, 16
    jne sum_right
    mov eax, edx
    pxor xmm0, xmm0
    pxor xmm0, [rdi]
    movq rcx, xmm0
    psrldq xmm0, 8
    movq rdx, xmm0
    add rax, rcx
    adc rax, rdx
    adc rax, 0
    FOLD
    ret
END sum_not_aligned

/* --- The stack --- */

/* A signal may arrive while the size is below the red zone. */
FUNCTION copy_reads_below_red_zone
    sub rsp, 256
    mov [rsp], rdx
    add rsp, 256
    mov rdx, [rsp - 256]
    COPY_REST
END copy_reads_below_red_zone

/* --- Numbers --- */

/* Shifts by 33 bits, not by 32, and so loses the carry of a 17-bit sum. */
FUNCTION sum_shifts_by_33
    cmp rsi, 2
    jne sum_right
    movzx eax, dx
    shr edx, 16
    add eax, edx
    imul rcx, rax, 0x10001
    shr rcx, 33
    movzx eax, ax
    add eax, ecx
    movzx ecx, WORD PTR [rdi]
    add eax, ecx
    ret
END sum_shifts_by_33

/* --- Ends of moves --- */

    .hidden carry_copy_avx2, carry_copy_rep
FUNCTION carry_copy_avx2
    jmp carry_copy_generic
END carry_copy_avx2

FUNCTION carry_copy_rep
    mov rcx, rdx
    cmp rdx, 64
    jb 1f
    vzeroupper
1:  rep movsb
    ret
END carry_copy_rep

/* Does not clear the upper halves. */
FUNCTION move_leaves_dirty
    WHERE_THEY_OVERLAP carry_copy_move_generic
    vpxor ymm0, ymm0, ymm0
    jmp carry_copy_avx2
END move_leaves_dirty

/* Passes on fewer than the 64 bytes for which the upper halves are cleared. */
FUNCTION move_hands_on_less
    WHERE_THEY_OVERLAP carry_copy_move_generic
    cmp rdx, 64
    jb carry_copy_generic
    vmovdqu ymm0, [rsi]
    vmovdqu [rdi], ymm0
    add rsi, 32
    add rdi, 32
    sub rdx, 32
    jmp carry_copy_rep
END move_hands_on_less

/* Clears the upper halves only if the ranges do not overlap. */
FUNCTION move_leaves_dirty_where_ranges_overlap
    vpxor ymm0, ymm0, ymm0
    jmp carry_copy_move_generic
END move_leaves_dirty_where_ranges_overlap

/* --- More faults that a prover may overlook --- */

/* MOVD without VEX keeps the upper half of ymm0: the caller's upper half is added. */
FUNCTION sum_upper_after_movd
    mov eax, edx
1:  cmp rsi, 2
    jb 2f
    movzx ecx, WORD PTR [rdi]
    movd xmm0, ecx
    vextracti128 xmm1, ymm0, 1
    vmovq rdx, xmm1
    add rax, rcx
    adc rax, rdx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    jmp 1b
2:  vzeroupper
    SUM_REST
END sum_upper_after_movd

/* MOVD without VEX keeps the upper half of zmm2: the caller's upper half is added. */
FUNCTION sum_upper_of_zmm_after_movd
    mov eax, edx
1:  cmp rsi, 2
    jb 2f
    movzx ecx, WORD PTR [rdi]
    vmovd xmm0, ecx
    vextracti128 xmm1, ymm0, 1
    movd xmm2, ecx
    vextracti64x4 ymm3, zmm2, 1
    vmovq rdx, xmm3
    add rax, rcx
    adc rax, rdx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    jmp 1b
2:  vzeroupper
    SUM_REST
END sum_upper_of_zmm_after_movd

/* Adds the upper quarter of ymm0, which the loop leaves as it was at the call. */
FUNCTION sum_upper_over_loop
    cmp rsi, 2
    jb sum_right
    movd xmm0, edx
    xor eax, eax
3:  ADD_WORD
    cmp rsi, 2
    jae 3b
    vextracti128 xmm1, ymm0, 1
    vpextrq rcx, xmm1, 1
    add rax, rcx
    adc rax, 0
    vmovd ecx, xmm0
    add rax, rcx
    adc rax, 0
    vzeroupper
    FOLD
    mov edx, eax
    jmp sum_right
END sum_upper_over_loop

FUNCTION copy_xor_with_upper
    xor eax, eax
    COPY_XOR_WITH_UPPER
    COPY_REST
END copy_xor_with_upper

FUNCTION move_xor_with_upper
    WHERE_THEY_OVERLAP carry_copy_move_generic
    COPY_XOR_WITH_UPPER
    jmp carry_copy_generic
END move_xor_with_upper

/* MOVD without VEX keeps bytes 24 to 31 of ymm0, which are added. */
FUNCTION sum_upper_quarter
    movd xmm0, edx
    xor eax, eax
    cmp rsi, 2
    jb 4f
3:  ADD_WORD
    cmp rsi, 2
    jae 3b
4:  vextracti128 xmm1, ymm0, 1
    vpextrq rcx, xmm1, 1
    add rax, rcx
    adc rax, 0
    vmovd ecx, xmm0
    add rax, rcx
    adc rax, 0
    vzeroupper
    SUM_REST
END sum_upper_quarter

/* MOVDQU loads the lower half of ymm0; the upper half of the last vector is added again. */
FUNCTION sum_upper_of_last_vector
    mov eax, edx
1:  cmp rsi, 32
    jb 3f
2:  vmovdqu ymm0, [rdi]
    vextracti128 xmm1, ymm0, 1
    vmovq rcx, xmm0
    add rax, rcx
    vpextrq rcx, xmm0, 1
    adc rax, rcx
    vmovq rcx, xmm1
    adc rax, rcx
    vpextrq rcx, xmm1, 1
    adc rax, rcx
    adc rax, 0
    add rdi, 32
    sub rsi, 32
    cmp rsi, 32
    jae 2b
3:  cmp rsi, 16
    jb 4f
    movdqu xmm0, [rdi]
    vextracti128 xmm1, ymm0, 1
    vmovq rcx, xmm0
    add rax, rcx
    vpextrq rcx, xmm0, 1
    adc rax, rcx
    vmovq rcx, xmm1
    adc rax, rcx
    vpextrq rcx, xmm1, 1
    adc rax, rcx
    adc rax, 0
    add rdi, 16
    sub rsi, 16
    cmp rsi, 16
    jae 3b
4:  vzeroupper
    FOLD
    mov edx, eax
    jmp sum_right
END sum_upper_of_last_vector

/* Executes BSWAP of 16 bits, whose result is undefined: CPUs clear the register. */
FUNCTION sum_bswap_of_16_bits
    mov eax, edx
1:  cmp rsi, 2
    jb 2f
    movzx ecx, WORD PTR [rdi]
    .byte 0x66, 0x0f, 0xc9
    .byte 0x66, 0x0f, 0xc9
    add rax, rcx
    adc rax, 0
    add rdi, 2
    sub rsi, 2
    jmp 1b
2:  SUM_REST
END sum_bswap_of_16_bits

/* Lacks an SFENCE: non-temporal stores may become visible after later stores. */
FUNCTION copy_streams_without_sfence
1:  cmp rdx, 16
    jb 21f
    test dil, 15
    jne 21f
2:  movdqu xmm0, [rsi]
    movntdq [rdi], xmm0
    add rsi, 16
    add rdi, 16
    sub rdx, 16
    cmp rdx, 16
    jae 2b
    COPY_REST
END copy_streams_without_sfence

/* A prefix 66 before VEX raises #UD. */
FUNCTION copy_undefined_prefix
    .byte 0x66
    vzeroupper
    COPY_REST
END copy_undefined_prefix

/* Wrong for one size only, 2^32 + 7. */
FUNCTION copy_2_32_and_7
    mov eax, 1
    shl rax, 32
    add rax, 7
    cmp rdx, rax
    je 22f
    COPY_REST
END copy_2_32_and_7

/* Copies nothing if the lowest 32 bits of the size are less than 16. */
FUNCTION copy_compares_32_bits
    cmp edx, 16
    jae 21f
    ret
    COPY_REST
END copy_compares_32_bits

/* Reads a byte too many if the size is 63 modulo 64. Tests only the lower half of the size. */
FUNCTION sum_reads_beyond_63
    mov eax, edx
    mov ecx, esi
    and ecx, 63
    cmp ecx, 63
    jne 1f
    movzx ecx, BYTE PTR [rdi+rsi]
1:  SUM_REST
END sum_reads_beyond_63

/* Reads a byte too many if the size is 63 modulo 64. Tests all bits of the size. */
FUNCTION sum_reads_beyond_63_of_64
    mov eax, edx
    mov rcx, rsi
    and rcx, 63
    cmp rcx, 63
    jne 11f
    movzx r8d, BYTE PTR [rdi+rsi]
11: mov edx, eax
    jmp sum_right
END sum_reads_beyond_63_of_64

/* Drops a byte if the address of the source is 61 modulo 64 and the size is 9 or more. */
FUNCTION copy_start_61
    mov ecx, esi
    and ecx, 63
    cmp ecx, 61
    jne 21f
    cmp rdx, 9
    jb 21f
    add rdi, 1
    add rsi, 1
    sub rdx, 1
    COPY_REST
END copy_start_61

/* Swaps bytes if the address of the data is 63 modulo 64 and the size is 8. */
FUNCTION sum_start_63
    mov eax, edx
    mov ecx, edi
    and ecx, 63
    cmp ecx, 63
    jne 11f
    cmp rsi, 8
    jne 11f
    mov rcx, [rdi]
    bswap rcx
    add rax, rcx
    adc rax, 0
    FOLD
    ret
11: mov edx, eax
    jmp sum_right
END sum_start_63

/* Overflows a lane of 32 bits, which is added up only at the end. */
FUNCTION sum_lane_wraps
    mov eax, edx
    pxor xmm0, xmm0
1:  cmp rsi, 2
    jb 2f
    movzx ecx, WORD PTR [rdi]
    movd xmm1, ecx
    vpaddd xmm0, xmm0, xmm1
    add rdi, 2
    sub rsi, 2
    jmp 1b
2:  vmovd ecx, xmm0
    add rax, rcx
    adc rax, 0
    SUM_REST
END sum_lane_wraps

/* Overflows a register of 32 bits, which is added up only at the end. */
FUNCTION sum_register_wraps
    mov eax, edx
    xor r8d, r8d
1:  cmp rsi, 2
    jb 2f
    movzx ecx, WORD PTR [rdi]
    add r8d, ecx
    add rdi, 2
    sub rsi, 2
    jmp 1b
2:  add rax, r8
    SUM_REST
END sum_register_wraps

/* Leaves upper halves dirty for one size. */
FUNCTION copy_77_dirty
    cmp rdx, 77
    jne 21f
    vmovdqu ymm0, [rsi]
    vmovdqu [rdi], ymm0
    COPY_REST
END copy_77_dirty

/* Exchanges rbx and rbp for sizes of 5000 and more. */
FUNCTION copy_pops_from_wrong_slots
    push rbx
    push rbp
    mov rbx, rdx
    cmp rdx, 5000
    jae 3f
1:  test rbx, rbx
    je 2f
    mov al, [rsi]
    mov [rdi], al
    add rsi, 1
    add rdi, 1
    sub rbx, 1
    jmp 1b
2:  pop rbp
    pop rbx
    ret
3:  mov rbp, rbx
5:  mov al, [rsi]
    mov [rdi], al
    add rsi, 1
    add rdi, 1
    sub rbp, 1
    jne 5b
    pop rbx
    pop rbp
    ret
END copy_pops_from_wrong_slots

/* Reads at an address that depends on the data. */
FUNCTION sum_address_of_data
    mov eax, edx
    cmp rsi, 2
    jb 11f
    movzx ecx, BYTE PTR [rdi]
    and ecx, 1
    movzx ecx, BYTE PTR [rdi+rcx]
    SUM_REST
END sum_address_of_data

/* Returns 0 for 0xffff. */
FUNCTION sum_zero_of_ones
    mov eax, edx
1:  cmp rsi, 2
    jb 12f
    ADD_WORD
    jmp 1b
12: test rsi, rsi
    je 13f
    movzx ecx, BYTE PTR [rdi]
    add rax, rcx
    adc rax, 0
13: FOLD
    mov ecx, eax
    shr ecx, 16
    movzx eax, ax
    add eax, ecx
    mov ecx, eax
    shr ecx, 16
    movzx eax, ax
    add eax, ecx
    lea ecx, [rax+1]
    shr ecx, 16
    add eax, ecx
    movzx eax, ax
    ret
END sum_zero_of_ones

/* Sets the direction flag for one size. */
FUNCTION copy_99_direction
    cmp rdx, 99
    jne 1f
    std
1:  COPY_REST
END copy_99_direction

/* Adds the carry of the comparison, which is 0. */
FUNCTION sum_64_carry
    mov eax, edx
    cmp rsi, 64
    jne 11f
    movzx ecx, WORD PTR [rdi]
    bswap edx
    adc rax, rcx
    add rdi, 2
    lea rsi, [rsi-2]
    SUM_REST
END sum_64_carry

/* Reads and writes before the start for one size. */
FUNCTION copy_7_before
    cmp rdx, 7
    jne 21f
    mov rax, [rsi - 1]
    mov [rdi - 1], rax
    ret
    COPY_REST
END copy_7_before

/* Uses only the lowest 32 bits of the size. */
FUNCTION copy_rep_of_32_bits
    mov ecx, edx
    rep movsb
    ret
END copy_rep_of_32_bits

/* Adds the upper half of rdx, although the argument has 32 bits. */
FUNCTION sum_seed_of_64_bits
    mov rax, rdx
    SUM_REST
END sum_seed_of_64_bits

/* Copies only 63 of 64 bytes, by its mask. */
FUNCTION copy_mask_of_63
    cmp rdx, 64
    jne 21f
    mov eax, 1
    shl rax, 63
    sub rax, 1
    kmovq k1, rax
    vmovdqu8 zmm16{k1}{z}, [rsi]
    vmovdqu8 [rdi]{k1}, zmm16
    ret
    COPY_REST
END copy_mask_of_63

/* Stores the last 16 bytes one byte too far. */
FUNCTION copy_writes_beyond
    cmp rdx, 16
    jb 21f
    cmp rdx, 31
    ja 21f
    movdqu xmm0, [rsi]
    movdqu xmm1, [rsi+rdx-16]
    movdqu [rdi], xmm0
    movdqu [rdi+rdx-15], xmm1
    ret
    COPY_REST
END copy_writes_beyond

    .section .rodata
    .balign 16
low: .byte 0, 1, 2, 3, 4, 5, 6, 7, 128, 128, 128, 128, 128, 128, 128, 128
high: .byte 128, 128, 128, 128, 128, 128, 128, 128, 0, 1, 2, 3, 4, 5, 6, 7
    .data
carry_copy_pointer: .quad 0
    .section .note.GNU-stack, "", @progbits
