/* SPDX-License-Identifier: MIT */
/* What tests of frames around code that faults share. */
#ifndef BAREMETAL_FRAMES_H
#define BAREMETAL_FRAMES_H

#include "kernel.h"

#define HOLE ((volatile uint8_t *)WINDOW_HOLE)

/* Does `work` fault, and its frame learn where? */
bool is_caught(void (*work)(void), const volatile uint8_t *address);

#endif
