/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this module share. Bits and names of fields: carry/xstate.h. */
#ifndef CARRY_XSTATE_XSTATE_H
#define CARRY_XSTATE_XSTATE_H

#include <carry/xstate.h>

#include "xstate/area.h"

#define CARRY_COMPACT_BIT (UINT64_C(1) << 63) /* of XCOMP_BV */

/* The components that FXSAVE saves. */
#define CARRY_LEGACY_STATE (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE))

/* The mask of MXCSR if FXSAVE stores 0 for it, as on the first CPUs with SSE (SDM vol. 1,
 * 11.6.6). */
#define CARRY_MXCSR_MASK_OLDEST 0xffbf

/* Detects the layout of this machine. Each architecture provides it. */
void carry_xstate_detect(struct carry_xstate_layout *layout);

/* Returns the `user` member of this machine's layout, which is detected once. */
uint64_t carry_xstate_user(void);

/*
 * Return whether there are registers that can be saved; create the area of a thread that has not
 * run; save and load the registers in a mask; return the mask of the registers that sections may
 * change. Sections call these functions; each architecture defines them.
 */
bool carry_vectors_known(void);
void carry_vectors_create(void *area, uint64_t mask);
void carry_vectors_save(void *area, uint64_t mask);
void carry_vectors_load(const void *area, uint64_t mask);
uint64_t carry_vectors_mask(void);

/* Cleans upper halves, and sets control words to their initial values; the control word of x87 only
 * if requested. Each architecture provides it. */
void carry_vectors_start(bool x87);

#endif
