/* SPDX-License-Identifier: MIT */
/* Mutants of thunks: each wraps a thunk of the library, and is called in the same way. */
#ifndef CARRY_TESTS_BROKEN_THUNK_AARCH64_H
#define CARRY_TESTS_BROKEN_THUNK_AARCH64_H

extern const char broken_thunk_not[];
extern const char broken_thunk_forgets_x5[];
extern const char broken_thunk_forgets_x8[];  /* the address for a result in memory */
extern const char broken_thunk_forgets_x18[]; /* the static chain */
extern const char broken_thunk_forgets_q7[];  /* the upper half of q7 */
extern const char broken_thunk_changes_x21[];
extern const char broken_thunk_changes_d9[];
extern const char broken_thunk_forgets_leave[]; /* of carry_thunk_around: skips `leave` */
extern const char broken_thunk_moves_stack[];   /* the target finds other words on its stack */
extern const char broken_thunk_wrong_cfi[];
extern const char broken_thunk_stops_streaming[]; /* before it calls the thunk */
extern const char broken_thunk_promises_za[];

/* Mutants of the thunks for functions of any procedure call standard. */
extern const char broken_thunk_whole_not[];
extern const char broken_thunk_whole_forgets_x9[];
extern const char broken_thunk_whole_forgets_q23[];
extern const char broken_thunk_whole_forgets_z8[]; /* the bits of z8 above 128 */
extern const char broken_thunk_whole_forgets_p0[];
extern const char broken_thunk_whole_forgets_p4[];

#endif
