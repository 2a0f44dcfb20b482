/* SPDX-License-Identifier: MIT */
/* Defines no forms of texts: this architecture has no sites. */
#include "bench/patch_code.h"

const struct patch_code patch_code = {0};
