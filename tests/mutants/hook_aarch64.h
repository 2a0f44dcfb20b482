/* SPDX-License-Identifier: MIT */
/* A mutant of hooks on AArch64, inserted by the linker (--wrap). */
#ifndef CARRY_TESTS_BROKEN_HOOK_AARCH64_H
#define CARRY_TESTS_BROKEN_HOOK_AARCH64_H

#include <stdbool.h>

/* If set, every hook uses the thunk for functions of the base procedure call standard. */
extern bool broken_hook_all_are_base;

#endif
