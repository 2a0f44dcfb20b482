/* SPDX-License-Identifier: MIT */
/* The prototypes of the CRC32c kernels. */
#ifndef CARRY_SUM_CRC32C_H
#define CARRY_SUM_CRC32C_H

#include <carry/crc.h>

#include "base/arch.h"

#define CARRY_CRC32C_KERNEL(arch, name, ...) CARRY_ROWS_##arch(carry_sum_fn carry_crc32c_##name;)
#include "sum/crc32c_kernels.def"
#undef CARRY_CRC32C_KERNEL

#endif
