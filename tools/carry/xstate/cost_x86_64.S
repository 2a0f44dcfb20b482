/* SPDX-License-Identifier: MIT */
/*
 * Functions that `carry xstate` times, in assembly so that no compiler chooses their instructions:
 * they make registers dirty, execute one instruction while these are dirty, save and load areas,
 * and encrypt by AES in SSE instructions (aesenc, not vaesenc). xstate/registers.h has the
 * prototypes.
 */
/* clang-format off */
#include "common/asm_x86_64.h"

#define SSE       1
#define AVX       2
#define OPMASK    5
#define ZMM_HI256 6
#define HI16_ZMM  7

.macro DIRTY_ymm
    vcmptrueps %ymm15, %ymm15, %ymm15
.endm

.macro DIRTY_zmm
    vpternlogd $255, %zmm15, %zmm15, %zmm15
.endm

/*
 * void xstate_dirty(uint64_t mask)
 *
 * Writes one register of each component in mask: xmm14, ymm15 (AVX), k1, zmm15 (ZMM_HI256), zmm16
 * (HI16_ZMM); for X87, pushes and pops. Other components are unchanged, except that ymm15 includes
 * a part of SSE, and zmm15 parts of SSE and AVX. Compilers use the registers with low numbers, and
 * could put SSE out of use again by zeroing them.
 *
 *   rdi  mask
 *
 * Clobbers flags and the written registers, whose upper halves remain dirty.
 */
FUNCTION xstate_dirty
    bt $SSE, %rdi
    jnc 1f
    pcmpeqd %xmm14, %xmm14
1:  test $1, %dil
    jz 1f
    fldz
    fstp %st
1:  bt $AVX, %rdi
    jnc 1f
    DIRTY_ymm
1:  bt $OPMASK, %rdi
    jnc 1f
    kxnorw %k1, %k1, %k1
1:  bt $ZMM_HI256, %rdi
    jnc 1f
    DIRTY_zmm
1:  bt $HI16_ZMM, %rdi
    jnc 1f
    vpternlogd $255, %zmm16, %zmm16, %zmm16
1:  ret
END xstate_dirty

/*
 * void xstate_upper_<state>(void)
 *
 * Does nothing; or makes the upper half of register 15 dirty; or does that, and then cleans all
 * upper halves. Each function costs the call and a cycle. Clobbers register 15.
 */
FUNCTION xstate_upper_none
    ret
END xstate_upper_none

FUNCTION xstate_upper_ymm
    DIRTY_ymm
    ret
END xstate_upper_ymm

FUNCTION xstate_upper_zmm
    DIRTY_zmm
    ret
END xstate_upper_zmm

FUNCTION xstate_upper_ymm_clean
    DIRTY_ymm
    vzeroupper
    ret
END xstate_upper_ymm_clean

FUNCTION xstate_upper_zmm_clean
    DIRTY_zmm
    vzeroupper
    ret
END xstate_upper_zmm_clean

/*
 * uint32_t xstate_shot_<event>_<state>(uint32_t delay)
 *
 * Returns the time-stamp counts of one event, including the cost of reading the counter, with clean
 * uppers or with a dirty upper of register 15. Both reads wait for the instructions before them.
 * The delay, in cycles, varies where a shot falls between the steps of a coarse counter.
 *
 * A shot begins with a VEX instruction that is not vzeroupper. When SSE code follows dirty uppers,
 * the CPU sets them aside. vzeroupper cleans them there, but the next VEX instruction still fetches
 * them (52 ns on a Xeon with AMX). Without this, the clean shot of `vex` would pay for the previous
 * shot.
 *
 *   edi       cycles of delay left
 *   eax, edx  the counter
 *   esi       the counter before the event
 *   xmm0-2    operands of events: ones, which need no assistance of the CPU
 *
 * Clobbers these registers, register 15 and flags; the upper halves are clean at the end.
 */
.macro DIRTY_clean
.endm

.macro BEFORE_none
.endm
.macro EVENT_none
.endm

/* The first SSE instruction. */
.macro BEFORE_sse
.endm
.macro EVENT_sse
    addps %xmm1, %xmm0
.endm

/* The first VEX instruction after SSE instructions have run. */
.macro BEFORE_vex
    addps %xmm1, %xmm0
.endm
.macro EVENT_vex
    vaddps %xmm1, %xmm1, %xmm2
.endm

/* The first VEX instruction after SSE instructions and vzeroupper. */
.macro BEFORE_cleaned
    addps %xmm1, %xmm0
    vzeroupper
.endm
.macro EVENT_cleaned
    vaddps %xmm1, %xmm1, %xmm2
.endm

/* Alternating SSE and VEX instructions. */
.macro BEFORE_turns
    addps %xmm1, %xmm0
.endm
.macro EVENT_turns
    .rept 16
    addps %xmm1, %xmm0
    vaddps %xmm1, %xmm1, %xmm2
    .endr
.endm

/* Continued SSE code: a load starts a new dependency chain unless it keeps a dirty upper half. */
.macro BEFORE_code
    addps %xmm1, %xmm0
.endm
.macro EVENT_code
    .rept 64
    movaps .Lones(%rip), %xmm0
    mulps %xmm1, %xmm0
    .endr
.endm

.macro BEFORE_vzeroupper
.endm
.macro EVENT_vzeroupper
    vzeroupper
.endm

.macro READ_COUNTER
    lfence
    rdtsc
    lfence
.endm

.macro SHOT event, state
FUNCTION xstate_shot_\event\()_\state
1:  dec %edi
    jns 1b
    vmovaps %xmm0, %xmm0
    vzeroupper
    movaps .Lones(%rip), %xmm0
    movaps %xmm0, %xmm1
    DIRTY_\state
    BEFORE_\event
    READ_COUNTER
    mov %eax, %esi
    EVENT_\event
    READ_COUNTER
    sub %esi, %eax
    vzeroupper
    ret
END xstate_shot_\event\()_\state
.endm

.irp event, none, sse, vex, cleaned, turns, code, vzeroupper
    SHOT \event, clean
    SHOT \event, ymm
    SHOT \event, zmm
.endr

    .section .rodata
    .balign 16
.Lones:
    .long 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000

/*
 * void xstate_loop_<instruction>(void *area, uint64_t mask, size_t calls)
 *
 * Executes the instruction `calls` times, at least once, on an area and a mask of components.
 *
 *   rdi       area
 *   rsi       mask
 *   edx, eax  mask, for the instructions
 *   r8        calls left
 *
 * Clobbers eax, rdx, r8, ecx, flags, and the components that the instruction loads.
 */
.macro LOOP name, instruction:vararg
FUNCTION xstate_loop_\name
    mov %rdx, %r8
    mov $1, %ecx
1:  mov %esi, %eax
    mov %rsi, %rdx
    shr $32, %rdx
    \instruction
    dec %r8
    jnz 1b
    ret
END xstate_loop_\name
.endm

LOOP fxsave, fxsave64 (%rdi)
LOOP xsave, xsave64 (%rdi)
LOOP xsavec, xsavec64 (%rdi)
LOOP xrstor, xrstor64 (%rdi)
LOOP xgetbv, xgetbv
LOOP fninit, fninit

/* With FNINIT before it, XRSTOR must initialise x87 each time. */
.macro FNINIT_XRSTOR
    fninit
    xrstor64 (%rdi)
.endm
LOOP fninit_xrstor, FNINIT_XRSTOR

/*
 * void xstate_aes_expand(const uint8_t key[16], void *schedule)
 *
 * Computes the eleven round keys of AES-128 (FIPS 197, 5.2): 176 bytes of 16-byte alignment.
 *
 *   rdi   key
 *   rsi   schedule
 *   xmm0  the round key
 *
 * Clobbers xmm0-2.
 */
.macro ROUND_KEY constant, offset
    aeskeygenassist $\constant, %xmm0, %xmm1
    pshufd $255, %xmm1, %xmm1
    .rept 3
    movdqa %xmm0, %xmm2
    pslldq $4, %xmm2
    pxor %xmm2, %xmm0
    .endr
    pxor %xmm1, %xmm0
    movdqa %xmm0, \offset(%rsi)
.endm

FUNCTION xstate_aes_expand
    movdqu (%rdi), %xmm0
    movdqa %xmm0, (%rsi)
    ROUND_KEY 0x01, 16
    ROUND_KEY 0x02, 32
    ROUND_KEY 0x04, 48
    ROUND_KEY 0x08, 64
    ROUND_KEY 0x10, 80
    ROUND_KEY 0x20, 96
    ROUND_KEY 0x40, 112
    ROUND_KEY 0x80, 128
    ROUND_KEY 0x1b, 144
    ROUND_KEY 0x36, 160
    ret
END xstate_aes_expand

/*
 * Computes C_i = AES(P_i ^ C_(i-1)) for i = 1 to blocks, with the initial vector as C_0 (SP
 * 800-38A, 6.2).
 *
 * void xstate_aes_cbc(const void *schedule, const void *vector, const void *in, void *out,
 *                     size_t blocks)
 *
 *   rdi   schedule, of 16-byte alignment
 *   rsi   vector
 *   rdx   in
 *   rcx   out
 *   r8    blocks left, at least one
 *   xmm0  the block, then C_i
 *
 * Clobbers rcx, rdx, r8, flags, xmm0, xmm1.
 */
FUNCTION xstate_aes_cbc
    movdqu (%rsi), %xmm0
1:  movdqu (%rdx), %xmm1
    pxor %xmm1, %xmm0
    pxor (%rdi), %xmm0
    aesenc 16(%rdi), %xmm0
    aesenc 32(%rdi), %xmm0
    aesenc 48(%rdi), %xmm0
    aesenc 64(%rdi), %xmm0
    aesenc 80(%rdi), %xmm0
    aesenc 96(%rdi), %xmm0
    aesenc 112(%rdi), %xmm0
    aesenc 128(%rdi), %xmm0
    aesenc 144(%rdi), %xmm0
    aesenclast 160(%rdi), %xmm0
    movdqu %xmm0, (%rcx)
    add $16, %rdx
    add $16, %rcx
    dec %r8
    jnz 1b
    ret
END xstate_aes_cbc

NOTES
