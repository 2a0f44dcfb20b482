/* SPDX-License-Identifier: MIT */
/* Offsets for thunk.S, and the variable that thunk.c sets for it. */
#ifndef CARRY_XSTATE_AARCH64_THUNK_H
#define CARRY_XSTATE_AARCH64_THUNK_H

/* struct carry_thunk */
#define THUNK_ENTER       0
#define THUNK_LEAVE       8
#define THUNK_TARGET      16
#define THUNK_STACK_WORDS 24

/* struct carry_thunk_call */
#define CALL_INTEGER     0
#define CALL_RESULT      64
#define CALL_STACK       80
#define CALL_RETURN      88
#define CALL_VECTORS     96
#define CALL_VECTOR_SIZE 104
#define CALL_WORD        112
#define CALL_LIBRARY     120
#define CALL_WORDS_END   124 /* its upper half: 1 + how many words to copy at most; 0: no limit */
#define CALL_BYTES       128

/* Bits of carry_thunk_machine, by number; the word is 0 before carry_thunk_prepare(). */
#define MACHINE_KNOWN 0
#define MACHINE_SVE   1
#define MACHINE_SME   2
#define MACHINE_BTI   3 /* branches through registers may need landing pads */

#ifndef __ASSEMBLER__

#include <stdint.h>

extern uint32_t carry_thunk_machine;

/* Returns the value for carry_thunk_machine. */
uint32_t carry_thunk_detect(void);

/*
 * Like carry_thunk_enter and carry_thunk_around, for targets whose calls may pass or preserve more
 * registers than base functions, and that need no landing pad: see thunk.S.
 */
extern const char carry_thunk_enter_whole[];
extern const char carry_thunk_around_whole[];

#endif

#endif
