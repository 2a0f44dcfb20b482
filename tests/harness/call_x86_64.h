/* SPDX-License-Identifier: MIT */
/* The offsets in struct frame, for call_x86_64.c and call_x86_64.S. */
#ifndef CARRY_TESTS_CALL_X86_64_H
#define CARRY_TESTS_CALL_X86_64_H

/* Inputs: the registers at the call. */
#define FRAME_ARGUMENTS 0   /* rdi, rsi, rdx */
#define FRAME_VOLATILE  24  /* rax, rcx, r8 to r11 */
#define FRAME_SAVED     72  /* rbx, rbp, r12 to r15 */
#define FRAME_STACK     120 /* rsp before the call */
#define FRAME_FLAGS     128
#define FRAME_HAS       136 /* HAS_ bits: the state that this CPU can store */

/* Snapshots on entry and on return, and the offsets in a snapshot. */
#define FRAME_ENTRY  144
#define FRAME_RETURN 960
#define SNAP_XINUSE  0 /* XGETBV(1) */
#define SNAP_MXCSR   4
#define SNAP_X87     8   /* FNSTENV: 28 bytes */
#define SNAP_YMM     48  /* the upper halves of ymm0 to ymm15 */
#define SNAP_ZMM     304 /* the upper halves of zmm0 to zmm15 */

/* Outputs. */
#define FRAME_AFTER        1776 /* rbx, rbp, r12 to r15 */
#define FRAME_STACK_AFTER  1824
#define FRAME_FLAGS_AFTER  1832
#define FRAME_RESULT       1840
#define FRAME_CALLER_STACK 1848 /* the stack of the caller of call_x86_64() */
#define FRAME_GARBAGE      1856 /* 32 vectors of 64 bytes, then the mask registers */

#define HAS_AVX    1
#define HAS_XINUSE 2
#define HAS_AVX512 4

#endif
