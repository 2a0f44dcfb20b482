/* SPDX-License-Identifier: MIT */
/* carry_copy_lines(): AArch64 has no implementation of its own yet. */
#include "copy/generic/lines.c"
