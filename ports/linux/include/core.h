/* SPDX-License-Identifier: MIT */
/* Includes the library's headers in files that include headers of Linux. c11.h explains `inline`.
 */
#ifndef CARRY_LINUX_CORE_H
#define CARRY_LINUX_CORE_H

#pragma push_macro("inline")
#undef inline
#include <carry/carry.h>

#include "copy/copy_choice.h"
#include "sum/crc32c.h"
#include "sum/sum_choice.h"
#include "sum/sum_internal.h"
#pragma pop_macro("inline")

#endif
