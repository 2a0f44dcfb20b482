/* SPDX-License-Identifier: MIT */
/*
 * Reports about this CPU from sources other than the library: the compiler's run-time library, and
 * the CPU's own name. Also puts the CPU into states that compilers never produce.
 */
#ifndef CARRY_TESTS_CPU_H
#define CARRY_TESTS_CPU_H

#include <stdbool.h>

enum cpu_opinion { CPU_SAYS_NO, CPU_SAYS_YES, CPU_SAYS_NOTHING };

/* Returns whether the feature exists and the operating system has enabled it. */
enum cpu_opinion cpu_supports(const char *feature);

/*
 * Returns whether XGETBV(1) reports upper halves of vectors as not in use. In emulators it equals
 * XCR0.
 */
bool cpu_tracks_use(void);

#define CPU_BRAND_BYTES 49

/*
 * Copies the CPU's name as its registers contain it, with all blanks, or as the emulator is
 * configured; "" if there is none. Returns false if only the library knows the name.
 */
bool cpu_brand(char brand[CPU_BRAND_BYTES]);

/* Loads from an address while the direction flag is set, where the CPU has one. */
void cpu_load_downwards(const volatile int *address);

/* Returns whether the direction flag is set, and clears it. */
bool cpu_goes_down(void);

/* Loads from an address while a number is on the x87 stack, where the CPU has one. */
void cpu_load_onto_x87(const volatile int *address);

/* Returns whether the x87 stack is empty. */
bool cpu_x87_is_empty(void);

#endif
