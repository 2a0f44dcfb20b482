/* SPDX-License-Identifier: MIT */
/* Declarations for the tests of frames around code that faults. */
#ifndef BAREMETAL_FRAMES_H
#define BAREMETAL_FRAMES_H

#include "kernel.h"

#define HOLE ((volatile uint8_t *)WINDOW_HOLE)

/* Returns whether `work` faults, and its frame reports `address`. */
bool is_caught(void (*work)(void), const volatile uint8_t *address);

#endif
