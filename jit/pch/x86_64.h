/* SPDX-License-Identifier: MIT */
/* What takes longest to compile in each file, compiled once: asmjit's assembler. */
#include <asmjit/x86.h>
