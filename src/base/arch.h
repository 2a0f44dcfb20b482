/* SPDX-License-Identifier: MIT */
/*
 * Selects the rows of tables that belong to this build. A row names its architecture;
 * CARRY_ROWS_<arch> keeps it or drops it. Apart from general_begin.h and general_end.h, no other
 * file asks the compiler for its target.
 */
#ifndef CARRY_BASE_ARCH_H
#define CARRY_BASE_ARCH_H

#define CARRY_ROWS_any(...) __VA_ARGS__

#if defined(__x86_64__)
#define CARRY_ARCH_NAME        "x86_64"
#define CARRY_ROWS_x86_64(...) __VA_ARGS__
#define CARRY_ROWS_aarch64(...)
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CARRY_ARCH_NAME "aarch64"
#define CARRY_ROWS_x86_64(...)
#define CARRY_ROWS_aarch64(...) __VA_ARGS__
#else
#define CARRY_ARCH_NAME "generic"
#define CARRY_ROWS_x86_64(...)
#define CARRY_ROWS_aarch64(...)
#endif

#endif
