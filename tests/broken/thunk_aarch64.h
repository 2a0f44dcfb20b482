/* SPDX-License-Identifier: MIT */
/* Thunks with one fault each, around the library's own: jumped to as those are. */
#ifndef CARRY_TESTS_BROKEN_THUNK_AARCH64_H
#define CARRY_TESTS_BROKEN_THUNK_AARCH64_H

extern const char broken_thunk_not[];
extern const char broken_thunk_forgets_x5[];
extern const char broken_thunk_forgets_x8[];  /* where a result in memory goes */
extern const char broken_thunk_forgets_x18[]; /* the static chain */
extern const char broken_thunk_forgets_q7[];  /* its upper half */
extern const char broken_thunk_changes_x21[];
extern const char broken_thunk_changes_d9[];
extern const char broken_thunk_forgets_leave[]; /* for carry_thunk_around */
extern const char broken_thunk_moves_stack[];   /* the target finds other words there */
extern const char broken_thunk_wrong_cfi[];
extern const char broken_thunk_stops_streaming[]; /* and calls back */
extern const char broken_thunk_promises_za[];

/* For functions of any procedure call standard. */
extern const char broken_thunk_whole_not[];
extern const char broken_thunk_whole_forgets_x9[];
extern const char broken_thunk_whole_forgets_q23[];
extern const char broken_thunk_whole_forgets_z8[]; /* what is above 128 bits */
extern const char broken_thunk_whole_forgets_p0[];
extern const char broken_thunk_whole_forgets_p4[];

#endif
