/* SPDX-License-Identifier: MIT */
/* Mutants of thunks: each wraps a thunk of the library, and is called in the same way. */
#ifndef CARRY_TESTS_BROKEN_THUNK_H
#define CARRY_TESTS_BROKEN_THUNK_H

extern const char broken_thunk_not[];
extern const char broken_thunk_forgets_uppers[]; /* upper halves of vector arguments */
extern const char broken_thunk_forgets_xmm7[];
extern const char broken_thunk_forgets_chain[]; /* r10 */
extern const char broken_thunk_stays_dirty[];   /* callbacks receive dirty upper halves */
extern const char broken_thunk_moves_stack[];   /* the target finds other arguments on its stack */
extern const char broken_thunk_wrong_cfi[];
extern const char broken_thunk_forgets_leave[]; /* of carry_thunk_around: skips `leave` */

/* Mutants of carry_thunk_any: each changes the register, or the red zone, in its name. */
extern const char broken_thunk_any_flags[];
extern const char broken_thunk_any_rdi[];
extern const char broken_thunk_any_x87[];
extern const char broken_thunk_any_xmm15[];
extern const char broken_thunk_any_k1[];
extern const char broken_thunk_any_red_zone[];

#endif
