/* SPDX-License-Identifier: MIT */
/* The part of <stdint.h> that the core needs, defined with the types of Linux. */
#ifndef CARRY_LINUX_STDINT_H
#define CARRY_LINUX_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

typedef long intptr_t;

#define UINT32_C(n) n##U
#define UINT64_C(n) n##ULL
#define UINT16_MAX  U16_MAX
#define UINT64_MAX  U64_MAX

#endif
