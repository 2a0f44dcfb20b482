/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A copy with vectors: the body of every vector kernel. The file that includes it defines
 *
 *     NAME            the kernel's name
 *     VECTOR_BYTES    32 or 64
 *     V(n), Y(n)      the register of that width, and of 32 bytes, n from 0 to 7
 *     MOVE            the instruction that loads and stores both
 *     USES_REP        1 if rep movsb is fast (ERMS), 0 if not; forms that recover never use it
 *     REP_MIN         the size from which on rep movsb is used (default: below)
 *     CLEAN           the instruction that leaves the upper halves of vectors clean, or nothing
 *
 * Equation, prototypes, registers: kernel.h.
 *
 * Up to eight vectors, all bytes are loaded before the first one is stored, some of them twice: the
 * last vectors end where the data ends, for any size. Kernels with vectors of 64 bytes have masks:
 * up to 64 bytes are one masked vector. Larger sizes are copied in blocks of four vectors to
 * aligned addresses. If the data lie on two pages at most, their end is loaded first, so that its
 * loads do not wait for the stores before it. Stores go to ascending addresses. The exception is
 * copies of up to eight vectors. They lie on two pages at most: their first store to an
 * inaccessible page goes to the copy's lowest address in that page.
 *
 * A move is the same up to eight vectors. Larger moves start at the end that may be overwritten.
 * Vectors that are stored out of the order of the blocks are loaded before and stored after them:
 * those of the other end, and the one that alignment cuts.
 *
 * Clobbers: rax, rcx, rdx, rsi, rdi, r8 to r11, flags, xmm0 to xmm3, V(0) to V(8), k1
 */
#include "copy/x86_64/kernel.h"

/*
 * The size from which on rep movsb is used (figures of Zen 5). It need not load the lines that it
 * overwrites. If neither side is cached, it costs 15 to 20 % less than vectors from 16 KiB on. If
 * both are cached, it costs 20 to 40 % less once both exceed the first-level cache of 48 KiB
 * together. Below that, vectors of 64 bytes cost as little as half of it, vectors of 32 bytes more.
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

/* Copies at least 1 and at most 2 registers full of bytes. */
#define COPY_2(bytes, R)                                                                           \
    LOAD(0, (%rsi), R(0));                                                                         \
    LOAD(0, -bytes(%rsi, %rdx), R(1));                                                             \
    STORE(0, R(0), (%rdi));                                                                        \
    STORE(CARRY_DONE(bytes), R(1), -bytes(%rdi, %rdx))

/* Copies more than 2 and at most 4 registers full of bytes. */
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

/* Store to the start, and to the end, after `done` bytes from the start. */
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

/* Larger copies go from the start to the end, page by page. */
#if BY_REP && REP_MIN < PAGE_BYTES
#define ENDS_MAX    REP_MIN
#else
#define ENDS_MAX    PAGE_BYTES
#endif

#define FIRST       V(8)

#define X(n)        %xmm##n

/* Moves to the first aligned address of the target after its start. The first vector covers the
 * bytes before it. Moves store that vector last, as it may overlap the source of a block. */
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

CARRY_FUNCTION KERNEL
    cmpq $64, %rdx
    ja .Labove_64

#if VECTOR_BYTES == 64
    /*
     * No branch on the size can be mispredicted: sizes that vary cost 45 % less than with the
     * branches below, and sizes that repeat a cycle or two less (Zen 5). The price:
     *  - While a masked load waits for its line, fewer other loads are in flight than beside plain
     *    loads. In cold memory, copies cost 1.5 to 2.1 times as much without the prefetches, and up
     *    to 5 % more with them, or 8 to 20 % if the 64 bytes lie on two lines.
     *  - A load directly after the masked store waits 1 ns longer than after plain stores, 3 ns for
     *    8 bytes.
     *  - If the 64 bytes reach an inaccessible page, the CPU needs 160 ns to determine that it does
     *    not need it. A branch that avoids this costs a cycle once it has been taken. So there is
     *    only one: for no bytes, whose address may be NULL.
     */
    movq $-1, %rax
    bzhiq %rdx, %rax, %rax
    jz .Lnone
    prefetcht0 (%rsi)
    prefetcht0 63(%rsi)
    kmovq %rax, %k1
    CARRY_LOAD 0, vmovdqu8 (%rsi), V(0){%k1}{z}
    CARRY_STORE 0, vmovdqu8 V(0), (%rdi){%k1}
.Lnone:
    COPY_RETURN
    .balign 64                          /* one line of code costs a cycle less than two */
#else
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
#endif
.Labove_64:
    cmpq $128, %rdx
    ja .Labove_128
#if VECTOR_BYTES == 64
    COPY_2(64, V)
#else
    COPY_4(32, Y)
#endif
    CLEAN
    COPY_RETURN

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
    /* If the source does not start within the target, they do not overlap. */
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
