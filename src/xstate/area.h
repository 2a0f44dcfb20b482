/* SPDX-License-Identifier: MIT */
/*
 * Offsets in areas and images of the fields that C and assembly use, in bytes (SDM vol. 1, 13.4).
 * All fields are little-endian.
 */
#ifndef CARRY_XSTATE_AREA_H
#define CARRY_XSTATE_AREA_H

#define CARRY_AREA_FCW        0
#define CARRY_AREA_FSW        2
#define CARRY_AREA_FTW        4
#define CARRY_AREA_MXCSR      24
#define CARRY_AREA_MXCSR_MASK 28
#define CARRY_AREA_ST         32
#define CARRY_AREA_XMM        160
#define CARRY_AREA_XMM_END    416
#define CARRY_AREA_SOFTWARE   464 /* to the end of the legacy area: for the system's use */
#define CARRY_AREA_XSTATE_BV  512
#define CARRY_AREA_XCOMP_BV   520
#define CARRY_AREA_RESERVED   528 /* to the end of the header: must be zero */

/* The initial values for XSAVE (SDM vol. 1, 13.6), with which the System V ABI starts processes. */
#define CARRY_FCW_INITIAL   0x37f
#define CARRY_MXCSR_INITIAL 0x1f80

#endif
