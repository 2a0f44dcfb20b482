/* SPDX-License-Identifier: MIT */
/* Offsets for thunk.S, and the variables that thunk.c sets for it. */
#ifndef CARRY_XSTATE_X86_64_THUNK_H
#define CARRY_XSTATE_X86_64_THUNK_H

/* struct carry_thunk */
#define THUNK_ENTER       0
#define THUNK_LEAVE       8
#define THUNK_TARGET      16
#define THUNK_STACK_WORDS 24

/* struct carry_thunk_call, and the thunk's own fields after it */
#define CALL_INTEGER     0
#define CALL_RESULT      48
#define CALL_STACK       64
#define CALL_RETURN      72
#define CALL_VECTORS     80
#define CALL_VECTOR_SIZE 88
#define CALL_WORD        96
#define CALL_LIBRARY     104
#define CALL_WORDS_END   108 /* its upper half: 1 + how many words to copy at most; 0: no limit */
#define CALL_BYTES       112

/* Bits of carry_thunk_machine; 0 before carry_thunk_prepare(). */
#define MACHINE_KNOWN   1
#define MACHINE_AVX     2
#define MACHINE_AVX512  4
#define MACHINE_XGETBV1 8 /* XGETBV(1) is faster than examining the registers */
#define MACHINE_XSAVE   16
#define MACHINE_XSAVEC  32

#ifndef __ASSEMBLER__

#include <stdint.h>

extern uint32_t carry_thunk_machine;
/* The components that carry_thunk_any keeps, and the size of their area. Once set, they do not
 * change. */
extern uint64_t carry_thunk_any_mask;
extern uint64_t carry_thunk_any_size;

#endif

#endif
