/* SPDX-License-Identifier: MIT */
/* Declares the functions of xstate/cost_x86_64.S: that file describes each. */
#ifndef CARRY_TOOLS_XSTATE_REGISTERS_H
#define CARRY_TOOLS_XSTATE_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

/* Makes components dirty. `mask` must be within xstate_reachable(), as this CPU lacks other
 * components. */
void xstate_dirty(uint64_t mask);

typedef void xstate_upper_fn(void);
xstate_upper_fn xstate_upper_none, xstate_upper_ymm, xstate_upper_zmm, xstate_upper_ymm_clean,
    xstate_upper_zmm_clean;

/* The states of uppers in which events are timed: the columns of tables. */
enum xstate_upper { XSTATE_CLEAN, XSTATE_YMM, XSTATE_ZMM, XSTATE_UPPERS };

typedef uint32_t xstate_shot_fn(uint32_t delay);
#define XSTATE_SHOT(event)                                                                         \
    xstate_shot_fn xstate_shot_##event##_clean, xstate_shot_##event##_ymm, xstate_shot_##event##_zmm
XSTATE_SHOT(none);
XSTATE_SHOT(sse);
XSTATE_SHOT(vex);
XSTATE_SHOT(cleaned);
XSTATE_SHOT(turns);
XSTATE_SHOT(code);
XSTATE_SHOT(vzeroupper);
#undef XSTATE_SHOT

typedef void xstate_loop_fn(void *area, uint64_t mask, size_t calls);
xstate_loop_fn xstate_loop_fxsave, xstate_loop_xsave, xstate_loop_xsavec, xstate_loop_xrstor,
    xstate_loop_xgetbv, xstate_loop_fninit, xstate_loop_fninit_xrstor;

void xstate_aes_expand(const uint8_t key[16], void *schedule);
void xstate_aes_cbc(const void *schedule, const void *vector, const void *in, void *out,
                    size_t blocks);

#endif
