/* SPDX-License-Identifier: MIT */
/* Offsets in an area: v0 to v31 of 16 bytes each, then the control words. */
#ifndef CARRY_XSTATE_AARCH64_VECTORS_H
#define CARRY_XSTATE_AARCH64_VECTORS_H

#define CARRY_VECTORS_CONTROL 512 /* FPSR and FPCR, of 8 bytes each */
#define CARRY_VECTORS_BYTES   528

#endif
