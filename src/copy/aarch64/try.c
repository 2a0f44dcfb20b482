/* SPDX-License-Identifier: MIT */
/* AArch64 has none of its own yet. */
#include "copy/generic/try.c"
