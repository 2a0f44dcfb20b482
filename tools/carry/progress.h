/* SPDX-License-Identifier: MIT */
/*
 * A progress line on standard error, for work that lasts: it appears after half a second, only on a
 * terminal, and leaves nothing behind, also when the user interrupts.
 *
 *     progress_begin(size);
 *     while (work)
 *         if (progress_due)
 *             progress_draw(position);
 *     progress_end();
 */
#ifndef CARRY_TOOLS_PROGRESS_H
#define CARRY_TOOLS_PROGRESS_H

#include <signal.h>
#include <stdint.h>

/* Set by a timer when the line should be drawn anew: testing it costs nothing per packet. */
extern volatile sig_atomic_t progress_due;

/* `size` in bytes is what 100 % means; 0 if unknown. */
void progress_begin(uint64_t size);

/* The same for work that is counted in `steps` of no size: the line shows no rate. */
void progress_begin_steps(uint64_t steps);

void progress_draw(uint64_t position);
void progress_end(void);

#endif
