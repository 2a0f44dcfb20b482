/* SPDX-License-Identifier: MIT */
/* The offsets in struct frame, for call_aarch64.c and call_aarch64.S. */
#ifndef CARRY_TESTS_CALL_AARCH64_H
#define CARRY_TESTS_CALL_AARCH64_H

/* Inputs: the registers at the call. */
#define FRAME_ARGUMENTS 0   /* x0 to x2 */
#define FRAME_VOLATILE  24  /* x3 to x16: x17 holds the target */
#define FRAME_SAVED     136 /* x19 to x29 */
#define FRAME_SAVED_D   224 /* d8 to d15 */
#define FRAME_STACK     288 /* sp before the call */

/* Outputs. */
#define FRAME_AFTER        296 /* x19 to x29 */
#define FRAME_AFTER_D      384 /* d8 to d15 */
#define FRAME_STACK_AFTER  448
#define FRAME_FPCR         456 /* on entry, then on return */
#define FRAME_RESULT       472
#define FRAME_CALLER_STACK 480
#define FRAME_GARBAGE      488 /* q0 to q7, q16 to q31 */

#endif
