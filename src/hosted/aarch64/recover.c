/* SPDX-License-Identifier: MIT */
/* AArch64 has no exception table yet. */
#include "hosted/generic/recover.c"
