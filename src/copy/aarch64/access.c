/* SPDX-License-Identifier: MIT */
/* AArch64 has no exception table yet. */
#include "copy/generic/access.c"
