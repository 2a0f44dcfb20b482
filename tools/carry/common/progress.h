/* SPDX-License-Identifier: MIT */
/*
 * Shows a progress line on standard error for long work: it appears after half a second, only on a
 * terminal, and is removed at the end, even if the user interrupts the command.
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

/* Set by a timer when the line should be redrawn, so that callers need not read a clock for each
   packet. */
extern volatile sig_atomic_t progress_due;

/* Begins work on `size` bytes, which are 100 %; 0: unknown. */
void progress_begin(uint64_t size);

/* Begins work that is counted in `steps`: the line shows no rate. */
void progress_begin_steps(uint64_t steps);

/* One of several files. */
struct progress_file {
    uint64_t size;    /* in bytes; 0 if unknown */
    uint64_t before;  /* bytes of the files before it */
    const char *path; /* shown unless NULL; must be valid until the next file, or the end */
};

/* Continues with the next file. From now on, positions are offsets in that file. */
void progress_begin_file(const struct progress_file *file);

/* Sets the counts so far: packets, and bad sums. The line shows them when it is drawn. */
void progress_count(uint64_t packets, uint64_t wrong);

void progress_draw(uint64_t position);

/* Removes the line until it is drawn again. Call it before printing anything else. */
void progress_hide(void);

void progress_end(void);

/*
 * Checks whether standard output is a pipe or a socket. Its reader may print to the same terminal
 * as the line, at any time.
 */
bool progress_is_piped(void);

#endif
