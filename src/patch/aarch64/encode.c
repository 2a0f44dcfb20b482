/* SPDX-License-Identifier: MIT */
/* AArch64 has no sites yet. */
#include "patch/generic/encode.c"
