/* SPDX-License-Identifier: MIT */
/* The precompiled header: asmjit's assembler takes longest to compile. */
#include <asmjit/x86.h>
