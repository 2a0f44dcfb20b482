/* SPDX-License-Identifier: MIT */
/*
 * void meanings_run(const void *code, int vectors)
 *
 * Loads all registers from meanings_block, runs code that ends with a jump to meanings_back, and
 * stores the registers in meanings_block. `vectors` is the number of bytes of a vector: 16 and 32
 * mean 16 vector registers, and 64 means 32 vector registers and the mask registers.
 */
    .intel_syntax noprefix

    .set STACK, 4 * 8
    .set FLAGS, 128
    .set MASKS, 192
    .set VECTORS, 256
#define BLOCK(at) [rip + block + at]
#define UP_TO_7   0, 1, 2, 3, 4, 5, 6, 7
#define UP_TO_15  UP_TO_7, 8, 9, 10, 11, 12, 13, 14, 15
#define UP_TO_31  UP_TO_15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31

    /* Executes \verb for each general register except rsp, and its offset in the block. */
    .macro GENERAL verb
    \verb rax, 0 * 8
    \verb rcx, 1 * 8
    \verb rdx, 2 * 8
    \verb rbx, 3 * 8
    \verb rbp, 5 * 8
    \verb rsi, 6 * 8
    \verb rdi, 7 * 8
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    \verb r\n, \n * 8
    .endr
    .endm

    .macro LOAD register, at:vararg
    mov \register, BLOCK(\at)
    .endm

    .macro STORE register, at:vararg
    mov BLOCK(\at), \register
    .endm

    .text
    .globl meanings_run
    .type meanings_run, @function
meanings_run:
    .irp register, rbx, rbp, r12, r13, r14, r15
    push \register
    .endr
    mov saved_rsp[rip], rsp
    mov saved_code[rip], rdi
    mov saved_vectors[rip], esi
    cmp esi, 32
    ja 3f
    je 2f
    .irp n, UP_TO_15
    movdqu xmm\n, BLOCK(VECTORS + \n * 64)
    .endr
    jmp 4f
2:  .irp n, UP_TO_15
    vmovdqu ymm\n, BLOCK(VECTORS + \n * 64)
    .endr
    jmp 4f
3:  .irp n, UP_TO_31
    vmovdqu64 zmm\n, BLOCK(VECTORS + \n * 64)
    .endr
    .irp n, UP_TO_7
    kmovq k\n, BLOCK(MASKS + \n * 8)
    .endr
4:  push BLOCK(FLAGS)
    popfq
    mov rsp, BLOCK(STACK)
    GENERAL LOAD
    jmp saved_code[rip]
    .size meanings_run, . - meanings_run

    .globl meanings_back
    .type meanings_back, @function
meanings_back:
    GENERAL STORE
    mov BLOCK(STACK), rsp
    mov rsp, saved_rsp[rip]
    pushfq
    pop BLOCK(FLAGS)
    cmp dword ptr saved_vectors[rip], 32
    ja 3f
    je 2f
    .irp n, UP_TO_15
    movdqu BLOCK(VECTORS + \n * 64), xmm\n
    .endr
    jmp 5f
2:  .irp n, UP_TO_15
    vmovdqu BLOCK(VECTORS + \n * 64), ymm\n
    .endr
    jmp 4f
3:  .irp n, UP_TO_31
    vmovdqu64 BLOCK(VECTORS + \n * 64), zmm\n
    .endr
    .irp n, UP_TO_7
    kmovq BLOCK(MASKS + \n * 8), k\n
    .endr
4:  vzeroupper
5:  .irp register, r15, r14, r13, r12, rbp, rbx
    pop \register
    .endr
    ret
    .size meanings_back, . - meanings_back

    .bss
    .balign 64
    .globl meanings_block
    .type meanings_block, @object
meanings_block:
block:
    .skip VECTORS + 32 * 64
    .size meanings_block, . - meanings_block
saved_rsp:
    .skip 8
saved_code:
    .skip 8
saved_vectors:
    .skip 8
    .section .note.GNU-stack, "", @progbits
