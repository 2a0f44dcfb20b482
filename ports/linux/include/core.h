/* SPDX-License-Identifier: MIT */
/* The library's headers, for files that include those of Linux. For `inline`, see c11.h. */
#ifndef CARRY_LINUX_CORE_H
#define CARRY_LINUX_CORE_H

#pragma push_macro("inline")
#undef inline
#include <carry/carry.h>

#include "copy/choice.h"
#include "sum/choice.h"
#include "sum/crc32c.h"
#include "sum/sum.h"
#pragma pop_macro("inline")

#endif
