/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A copy with vectors: the body of every vector kernel. The file that includes it defines
 *
 *     NAME            the kernel's name
 *     VECTOR_BYTES    32 or 64
 *     V(n), Y(n)      the register of that width (n from 0 to 8), and of 32 bytes (0 to 3)
 *     MOVE            the instruction that loads and stores these registers
 *     USES_REP        1 if rep movsb is fast (ERMS), 0 if not; forms that recover never use it
 *     REP_MIN         the size from which on rep movsb is used (default: below)
 *     CLEAN           the instruction that leaves the upper halves of vectors clean, or nothing
 *     FOLLOWS         1 if the kernel lies behind carry_copy(), so that its jump to the chosen
 *                     kernel becomes a NOP if this kernel is chosen; 0 if not
 *
 * Equation, prototypes, registers: kernel.h.
 *
 * Copies of up to eight vectors load all bytes before they store the first one. Some bytes are
 * loaded twice, because the last vectors end where the data end, at any size. Kernels with vectors
 * of 64 bytes have masks: up to 63 bytes are two masked halves. More than eight vectors are copied
 * in blocks of four, to aligned addresses. Up to ENDS_MAX bytes lie on two pages at most: their end
 * is loaded first, so that its loads do not wait for the stores before it. These copies store to
 * ascending addresses. The order differs in copies of up to eight vectors. But such a copy
 * lies on two pages at most, and the first of its stores that reaches an inaccessible page covers
 * the copy's lowest address in that page.
 *
 * Moves of up to eight vectors work in the same way. Larger moves start at the end that may be
 * overwritten. The vectors of the other end, and the vector that alignment cuts, are stored out of
 * the order of the blocks: they are loaded before all blocks and stored after them.
 *
 * Clobbers: rax, rcx, rdx, rsi, rdi, r8 to r11, flags, xmm0 to xmm3, V(0) to V(8), k1
 */
#include "copy/x86_64/kernel.h"
#include "patch/x86_64/jump.h"

/*
 * The size from which on rep movsb is used (figures of Zen 5). rep movsb need not load the lines
 * that it overwrites. If neither side is cached, it costs 15 to 20 % less than vectors from 16 KiB
 * on. If both are cached, it costs 20 to 40 % less once both together exceed the first-level cache
 * of 48 KiB. For smaller sizes, vectors of 64 bytes cost less than rep movsb, down to half as much;
 * vectors of 32 bytes cost more than rep movsb.
 */
#ifndef REP_MIN
#if VECTOR_BYTES == 64
#define REP_MIN (16 << 10)
#else
#define REP_MIN (4 << 10)
#endif
#endif

/* Stores of rep movsb are not exact if pages vanish: base/fault_asm.h. */
#define BY_REP (USES_REP && !RECOVERS)

#define LOAD(done, place, register)  CARRY_LOAD done, MOVE place, register
#define STORE(done, register, place) CARRY_STORE done, MOVE register, place

/* Copies `bytes` to 2 * `bytes` bytes, with two registers of that size. */
#define COPY_2(bytes, R)                                                                           \
    LOAD(0, (%rsi), R(0));                                                                         \
    LOAD(0, -bytes(%rsi, %rdx), R(1));                                                             \
    STORE(0, R(0), (%rdi));                                                                        \
    STORE(CARRY_DONE(bytes), R(1), -bytes(%rdi, %rdx))

/* Copies more than 2 * `bytes` and at most 4 * `bytes` bytes, with four registers of that size. */
#define COPY_4(bytes, R)                                                                           \
    LOAD(0, (%rsi), R(0));                                                                         \
    LOAD(0, bytes(%rsi), R(1));                                                                    \
    LOAD(0, -2 * bytes(%rsi, %rdx), R(2));                                                         \
    LOAD(0, -bytes(%rsi, %rdx), R(3));                                                             \
    STORE(0, R(0), (%rdi));                                                                        \
    STORE(CARRY_DONE(bytes), R(1), bytes(%rdi));                                                   \
    STORE(CARRY_DONE(2 * bytes), R(2), -2 * bytes(%rdi, %rdx));                                    \
    STORE(CARRY_DONE_END(2 * bytes, bytes / VECTOR_BYTES), R(3), -bytes(%rdi, %rdx))

#define LOAD_4(done, place, from, a, b, c, d)                                                      \
    LOAD(done, from + 0 * VECTOR_BYTES place, V(a));                                               \
    LOAD(done, from + 1 * VECTOR_BYTES place, V(b));                                               \
    LOAD(done, from + 2 * VECTOR_BYTES place, V(c));                                               \
    LOAD(done, from + 3 * VECTOR_BYTES place, V(d))

/* Store four vectors to the start (STORE_4), or to the end after the first `done` bytes were stored
 * (STORE_LAST_4). */
#define STORE_4(done, a, b, c, d)                                                                  \
    STORE(CARRY_DONE(0 * VECTOR_BYTES) | done, V(a), 0 * VECTOR_BYTES(%rdi));                      \
    STORE(CARRY_DONE(1 * VECTOR_BYTES) | done, V(b), 1 * VECTOR_BYTES(%rdi));                      \
    STORE(CARRY_DONE(2 * VECTOR_BYTES) | done, V(c), 2 * VECTOR_BYTES(%rdi));                      \
    STORE(CARRY_DONE(3 * VECTOR_BYTES) | done, V(d), 3 * VECTOR_BYTES(%rdi))

#define STORE_LAST_4(done, a, b, c, d)                                                             \
    STORE(CARRY_DONE(done), V(a), -4 * VECTOR_BYTES(%rdi, %rdx));                                  \
    STORE(CARRY_DONE_END(done, 3), V(b), -3 * VECTOR_BYTES(%rdi, %rdx));                           \
    STORE(CARRY_DONE_END(done, 2), V(c), -2 * VECTOR_BYTES(%rdi, %rdx));                           \
    STORE(CARRY_DONE_END(done, 1), V(d), -1 * VECTOR_BYTES(%rdi, %rdx))

#define BLOCK_BYTES (4 * VECTOR_BYTES)
#define PAGE_BYTES  4096

/* Copies of more than ENDS_MAX bytes go from the start to the end, page by page. */
#if BY_REP && REP_MIN < PAGE_BYTES
#define ENDS_MAX    REP_MIN
#else
#define ENDS_MAX    PAGE_BYTES
#endif

#define FIRST       V(8)

#define X(n)        %xmm##n

/*
 * Advances to the first aligned address of the target after its start. The first vector covers the
 * bytes before that address. Moves store this vector last, as it may overlap the source of a block.
 */
.macro COPY_ALIGN
#if MOVES
    movq %rdi, %r8
#else
    STORE(0, FIRST, (%rdi))
#if RECOVERS
    leaq VECTOR_BYTES(%rdi), %r8
#endif
#endif
    movl %edi, %ecx
    orq $-VECTOR_BYTES, %rcx
    negq %rcx                           /* 1 to VECTOR_BYTES */
    addq %rcx, %rsi
    addq %rcx, %rdi
    subq %rcx, %rdx
.endm

/* Copies blocks from the start or from the end, until one block or less is left. */
.macro COPY_BLOCKS from
    .balign 64
.Lblock_\@:
    .ifc \from, start
    LOAD_4(CARRY_DONE_R8, (%rsi), 0, 0, 1, 2, 3)
    STORE_4(CARRY_DONE_R8, 0, 1, 2, 3)
    addq $BLOCK_BYTES, %rsi
    addq $BLOCK_BYTES, %rdi
    .else
    LOAD_4(0, (%rsi, %rdx), -BLOCK_BYTES, 0, 1, 2, 3)
    STORE_LAST_4(0, 0, 1, 2, 3)
    .endif
    subq $BLOCK_BYTES, %rdx
    cmpq $BLOCK_BYTES, %rdx
    ja .Lblock_\@
.endm

/*
 * Opens a kernel. If FOLLOWS is 1, the function that calls the chosen kernel lies before it, in the
 * same line of code; where text has no sites, that function is in C.
 */
.macro COPY_ENTER
#if FOLLOWS && !defined CARRY_NO_SITES
    CARRY_PATCHED_JUMP COPY_CALL, COPY_KEY, 64
#if RECOVERS
    .hidden COPY_CALL
#endif
    CARRY_FUNCTION KERNEL, 1
#else
    CARRY_FUNCTION KERNEL
#endif
.endm

COPY_ENTER
#if VECTOR_BYTES == 64
    /*
     * 64 to 128 bytes take no branch, and fewer bytes one: each branch that is taken costs a cycle
     * (an Intel Xeon with AMX; Zen 5, measured with the opposite order).
     */
    cmpq $64, %rdx
    jb .Lbelow_64
    cmpq $128, %rdx
    ja .Labove_128
    COPY_2(64, V)
    CLEAN
    COPY_RETURN

    /*
     * Two vectors of half the width under one mask: the second ends with the data, or lies on the
     * first one if that covers all bytes. No branch on the size can be mispredicted: sizes that
     * vary cost 45 % less than with the branches below, and sizes that repeat cost a cycle or two
     * less (Zen 5, with one vector of 64 bytes). On two lines, a vector of 64 bytes would lower the
     * clock of an Intel Xeon with AMX by a tenth, even if it is masked. The price:
     *  - While a masked load waits for its line, fewer other loads are in flight than beside plain
     *    loads. In cold memory, copies cost 1.5 to 2.1 times as much without the prefetches, and up
     *    to 5 % more with them, or 8 to 20 % if the bytes lie on two lines (Zen 5).
     *  - A load directly after the masked store waits 1 ns longer than after plain stores, 3 ns for
     *    8 bytes (Zen 5).
     *  - If the 32 bytes reach an inaccessible page, the CPU needs 160 ns to determine that it does
     *    not need that page. A branch that avoids this costs a cycle once it has been taken. So
     *    there is only one more branch: for a size of 0, where the address may be NULL.
     */
    .balign 64                          /* one line of code costs a cycle less than two */
.Lbelow_64:
    movl $-1, %eax
    xorl %r8d, %r8d
    leal -32(%rdx), %ecx
    bzhil %edx, %eax, %eax              /* carry = size > 31 */
    cmovncl %r8d, %ecx
    jz .Lnone
    prefetcht0 (%rsi)
    prefetcht0 -1(%rsi, %rdx)
    kmovd %eax, %k1
    CARRY_LOAD 0, vmovdqu8 (%rsi), Y(0){%k1}{z}
    CARRY_LOAD 0, vmovdqu8 (%rsi, %rcx), Y(1){%k1}{z}
    CARRY_STORE 0, vmovdqu8 Y(0), (%rdi){%k1}
    CARRY_STORE CARRY_DONE(32), vmovdqu8 Y(1), (%rdi, %rcx){%k1}
.Lnone:
    COPY_RETURN
    .balign 64
#else
    cmpq $64, %rdx
    ja .Labove_64
    /*
     * Two stores that may overlap, for any size. Four stores would need no branch, but loads of the
     * next call wait longer for them if both sides have the same page offset: 20 bytes cost 4.0 ns
     * with four stores and 2.5 with two (Zen 3), 4.4 with four and 2.6 with the two of memcpy
     * (Cascade Lake). The branches cost random sizes nothing: 6.7 ns, with four stores 7.1 (Zen 3).
     */
    cmpl $16, %edx
    jb .Lbelow_16
    cmpl $32, %edx
    jae .Lfrom_32
    COPY_2(16, X)
    COPY_RETURN
.Lfrom_32:
    COPY_2(32, Y)
    CLEAN
    COPY_RETURN

.Lbelow_16:
    COPY_BELOW_16
.Labove_64:
    cmpq $128, %rdx
    ja .Labove_128
    COPY_4(32, Y)
    CLEAN
    COPY_RETURN
#endif

.Labove_128:
#if VECTOR_BYTES == 64
    cmpq $256, %rdx
    ja .Labove_4
    COPY_4(64, V)
    CLEAN
    COPY_RETURN
.Labove_4:
#endif
    cmpq $2 * BLOCK_BYTES, %rdx
    ja .Lmany
    LOAD_4(0, (%rsi), 0, 0, 1, 2, 3)
    LOAD_4(0, (%rsi, %rdx), -BLOCK_BYTES, 4, 5, 6, 7)
    STORE_4(0, 0, 1, 2, 3)
    STORE_LAST_4(BLOCK_BYTES, 4, 5, 6, 7)
    CLEAN
    COPY_RETURN

.Lmany:
#if MOVES
    movq %rdi, %rcx
    subq %rsi, %rcx
    cmpq %rdx, %rcx
    jb .Lupwards
#endif
    LOAD(0, (%rsi), FIRST)
    cmpq $ENDS_MAX, %rdx
    ja .Lpages
.Lend_first:
    LOAD_4(0, (%rsi, %rdx), -BLOCK_BYTES, 4, 5, 6, 7)
    COPY_ALIGN
    COPY_BLOCKS start
    STORE_LAST_4(0, 4, 5, 6, 7)
#if MOVES
    STORE(0, FIRST, (%r8))
#endif
    CLEAN
    COPY_RETURN

#if MOVES
    /* If the source does not start within the target either, the ranges do not overlap. */
.Lpages:
    negq %rcx
    cmpq %rdx, %rcx
    jb .Lend_first
    jmp COPY_EXPAND(carry_copy_, NAME)

    /* The target starts within the source. */
.Lupwards:
    LOAD(0, -VECTOR_BYTES(%rsi, %rdx), FIRST)
    LOAD_4(0, (%rsi), 0, 4, 5, 6, 7)
    leaq (%rdi, %rdx), %r8
    movl %r8d, %ecx
    andl $VECTOR_BYTES - 1, %ecx
    subq %rcx, %rdx
    COPY_BLOCKS end
    STORE_4(0, 4, 5, 6, 7)
    STORE(0, FIRST, -VECTOR_BYTES(%r8))
    CLEAN
    COPY_RETURN
#else
    /* The end must not be loaded first here: a page before it may fault. */
.Lpages:
    COPY_ALIGN
#if BY_REP
    cmpq $REP_MIN, %rdx
    jae .Lrep
#endif
    COPY_BLOCKS start
    LOAD_4(0, (%rsi, %rdx), -BLOCK_BYTES, 4, 5, 6, 7)
    STORE_LAST_4(0, 4, 5, 6, 7)
    CLEAN
    COPY_RETURN

#if BY_REP
.Lrep:
    CLEAN
    movq %rdx, %rcx
    rep movsb
    ret
#endif
#endif
    CARRY_RECOVER VECTOR_BYTES, CLEAN
CARRY_END KERNEL

CARRY_NOTES
