/* SPDX-License-Identifier: MIT */
/* What the files of this module share. Bits of masks and the names of fields: carry/xstate.h. */
#ifndef CARRY_XSTATE_XSTATE_H
#define CARRY_XSTATE_XSTATE_H

#include <carry/xstate.h>

#include "xstate/area.h"

#define CARRY_COMPACT_BIT (UINT64_C(1) << 63) /* of XCOMP_BV */

/* What FXSAVE holds. */
#define CARRY_LEGACY_STATE (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE))

/* Where FXSAVE leaves zero for it, the mask of the first CPUs with SSE (SDM vol. 1, 11.6.6). */
#define CARRY_MXCSR_MASK_OLDEST 0xffbf

/* Each architecture provides: the layout of this machine. */
void carry_xstate_detect(struct carry_xstate_layout *layout);

/* The layout, by its facts alone: found once, then read from memory. */
uint64_t carry_xstate_user(void);

/*
 * Each architecture provides what sections keep: are there registers that can be saved? An area for
 * a thread of this mask that has not run; saves and loads of all registers that the mask stands
 * for; the mask of what sections may change.
 */
bool carry_vectors_known(void);
void carry_vectors_create(void *area, uint64_t mask);
void carry_vectors_save(void *area, uint64_t mask);
void carry_vectors_load(const void *area, uint64_t mask);
uint64_t carry_vectors_mask(void);

/* Each architecture provides: upper halves are clean, and control words, with x87 if asked, as the
 * CPU starts with them. */
void carry_vectors_start(bool x87);

#endif
