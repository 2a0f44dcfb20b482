/* SPDX-License-Identifier: MIT */
/* Defines the parts for architectures other than x86-64: only x86 has extended state. */
#include "common/command.h"
#include "xstate/parts.h"

#define CARRY_XSTATE_PART(name, summary)                                                           \
    int xstate_##name(int argc, char **argv) {                                                     \
        (void)argc;                                                                                \
        return command_error("%s needs x86-64", argv[0]);                                          \
    }
#include "xstate/parts.def"
