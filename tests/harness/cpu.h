/* SPDX-License-Identifier: MIT */
/*
 * Second sources about this CPU: the compiler's run-time library and the CPU's own name; also
 * states of the CPU that compilers never produce.
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
 * Copies the CPU's name from its registers, with all blanks, or the emulator's configured name; ""
 * if there is none. Returns false if there is no second source.
 */
bool cpu_brand(char brand[CPU_BRAND_BYTES]);

/*
 * Load from an address while the direction flag is set, where it exists; return whether it is set.
 */
void cpu_load_downwards(const volatile int *address);
bool cpu_goes_down(void);

/*
 * Load from an address while a number is on the x87 stack, where one exists; return whether the
 * stack is empty.
 */
void cpu_load_onto_x87(const volatile int *address);
bool cpu_x87_is_empty(void);

#endif
