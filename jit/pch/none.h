/* SPDX-License-Identifier: MIT */
/* What takes longest to compile in each file, compiled once: asmjit's core. */
#include <asmjit/core.h>
