/* SPDX-License-Identifier: MIT */
/* The functions that xstate/parts.def names. */
#ifndef CARRY_TOOLS_XSTATE_PARTS_H
#define CARRY_TOOLS_XSTATE_PARTS_H

#define CARRY_XSTATE_PART(name, summary) int xstate_##name(int argc, char **argv);
#include "xstate/parts.def"
#undef CARRY_XSTATE_PART

#endif
