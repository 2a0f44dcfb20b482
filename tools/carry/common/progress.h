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
#include <stdbool.h>
#include <stdint.h>

/* Set by a timer when the line should be drawn anew: testing it costs nothing per packet. */
extern volatile sig_atomic_t progress_due;

/* `size` in bytes is what 100 % means; 0 if unknown. */
void progress_begin(uint64_t size);

/* The same for work that is counted in `steps` of no size: the line shows no rate. */
void progress_begin_steps(uint64_t steps);

/* One of several files. */
struct progress_file {
    uint64_t size;    /* as above */
    uint64_t before;  /* bytes of the files before it */
    const char *path; /* shown; NULL: not. It is to be there until the next file, or the end */
};

/* Goes on with a file, of which positions count from now on. */
void progress_begin_file(const struct progress_file *file);

/* What has been counted so far: packets, and bad sums. It is shown when the line is drawn. */
void progress_count(uint64_t packets, uint64_t wrong);

void progress_draw(uint64_t position);

/* Removes the line until it is drawn again: to be called before anything else is printed. */
void progress_hide(void);

void progress_end(void);

/*
 * Does standard output go through a pipe? What comes out of it may be printed to the terminal that
 * the line is on, at any time.
 */
bool progress_is_piped(void);

#endif
