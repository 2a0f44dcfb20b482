/* SPDX-License-Identifier: MIT */
/* Where there are no sites there is nothing to make. */
#include "bench/patch_code.h"

const struct patch_code patch_code = {0};
