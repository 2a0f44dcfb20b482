/* SPDX-License-Identifier: MIT */
/* For architectures without sites. */
#include "bench/patch_code.h"

const struct patch_code patch_code = {0};
