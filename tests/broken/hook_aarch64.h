/* SPDX-License-Identifier: MIT */
/* A twin of what hooks on AArch64, which the linker puts between (--wrap). */
#ifndef CARRY_TESTS_BROKEN_HOOK_AARCH64_H
#define CARRY_TESTS_BROKEN_HOOK_AARCH64_H

#include <stdbool.h>

/* Whatever is hooked gets the thunk for functions of the base standard. */
extern bool broken_hook_all_are_base;

#endif
