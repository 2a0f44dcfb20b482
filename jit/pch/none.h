/* SPDX-License-Identifier: MIT */
/* The precompiled header: asmjit's core takes longest to compile. */
#include <asmjit/core.h>
