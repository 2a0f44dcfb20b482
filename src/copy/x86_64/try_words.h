/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A copy with general registers that survives faults: each word is loaded and stored by separate
 * instructions, so that a fault shows which words are stored. The file that includes it defines
 * NAME.
 * Equation, prototypes, registers: kernel.h.
 *
 * Clobbers: rax, rcx, rdx, rsi, rdi, r8 to r11, flags
 */
#define RECOVERS 1
#include "copy/x86_64/kernel.h"

#define BLOCK_BYTES 64

/* Copies 32 bytes of a block after its first `done` bytes, which are copied already. */
#define TAKE_WORDS(done)                                                                           \
    CARRY_LOAD CARRY_DONE(done), movq done(%rsi), %rax;                                            \
    CARRY_LOAD CARRY_DONE(done), movq done + 8(%rsi), %rcx;                                        \
    CARRY_LOAD CARRY_DONE(done), movq done + 16(%rsi), %r8;                                        \
    CARRY_LOAD CARRY_DONE(done), movq done + 24(%rsi), %r9;                                        \
    CARRY_STORE CARRY_DONE(done), movq %rax, done(%rdi);                                           \
    CARRY_STORE CARRY_DONE(done + 8), movq %rcx, done + 8(%rdi);                                   \
    CARRY_STORE CARRY_DONE(done + 16), movq %r8, done + 16(%rdi);                                  \
    CARRY_STORE CARRY_DONE(done + 24), movq %r9, done + 24(%rdi)

CARRY_FUNCTION KERNEL
    cmpq $BLOCK_BYTES, %rdx
    jbe .Lupto_block
    .balign 16
.Lblock:
    TAKE_WORDS(0)
    TAKE_WORDS(32)
    addq $BLOCK_BYTES, %rsi
    addq $BLOCK_BYTES, %rdi
    subq $BLOCK_BYTES, %rdx
    cmpq $BLOCK_BYTES, %rdx
    ja .Lblock
.Lupto_block:
    cmpl $32, %edx
    jbe .Lupto_32
    TAKE_WORDS(0)
    addq $32, %rsi
    addq $32, %rdi
    subl $32, %edx
.Lupto_32:
    cmpl $16, %edx
    jb .Lbelow_16
    CARRY_LOAD 0, movq (%rsi), %rax
    CARRY_LOAD 0, movq 8(%rsi), %rcx
    CARRY_LOAD 0, movq -16(%rsi, %rdx), %r8
    CARRY_LOAD 0, movq -8(%rsi, %rdx), %r9
    CARRY_STORE 0, movq %rax, (%rdi)
    CARRY_STORE CARRY_DONE(8), movq %rcx, 8(%rdi)
    CARRY_STORE CARRY_DONE(16), movq %r8, -16(%rdi, %rdx)
    CARRY_STORE CARRY_DONE_END(16, 1), movq %r9, -8(%rdi, %rdx)
    COPY_RETURN

.Lbelow_16:
    COPY_BELOW_16
    CARRY_RECOVER 8
CARRY_END KERNEL

CARRY_NOTES
