/* SPDX-License-Identifier: MIT */
/* carry_copy_lines(): AArch64 uses the portable implementation. */
#include "copy/generic/lines.c"
