/* SPDX-License-Identifier: MIT */
/* What somebody else says of this CPU: the compiler's run-time library, and the CPU's own name. And
 * what compilers do not say to it. */
#ifndef CARRY_TESTS_CPU_H
#define CARRY_TESTS_CPU_H

#include <stdbool.h>

enum cpu_opinion { CPU_SAYS_NO, CPU_SAYS_YES, CPU_SAYS_NOTHING };

/* Is the feature there, and enabled by the operating system? */
enum cpu_opinion cpu_supports(const char *feature);

/* Does XGETBV(1) tell that upper halves of vectors are out of use? Emulators have it say no more
 * than XCR0. */
bool cpu_tracks_use(void);

#define CPU_BRAND_BYTES 49

/* The CPU's name as it stands in its registers, blanks and all, or as the emulator was configured;
 * "" if it has none. False if there is no second source. */
bool cpu_brand(char brand[CPU_BRAND_BYTES]);

/* Loads from there while strings go down (DF), where there is such a flag; and do they? */
void cpu_load_downwards(const volatile int *address);
bool cpu_goes_down(void);

/* Loads from there while a number is on the x87 stack, where there is one; and is it empty? */
void cpu_load_onto_x87(const volatile int *address);
bool cpu_x87_is_empty(void);

#endif
