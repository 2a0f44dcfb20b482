/* SPDX-License-Identifier: MIT */
/*
 * Writes to standard output from a thread of its own, so that a reader that stops delays no other
 * thread. Text waits in memory, up to a limit; text beyond the limit is dropped and counted.
 */
#ifndef CARRY_TOOLS_LIVE_OUTLET_H
#define CARRY_TOOLS_LIVE_OUTLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct outlet;

/* Starts the thread. `end_event` becomes readable if writing fails. Returns NULL with errno set on
   failure. */
struct outlet *outlet_open(int end_event);

/* The text of a report. outlet_begin() returns the stream for it; NULL if there is no memory. */
struct outlet_text {
    FILE *out;
    char *text;
    size_t size;
};
FILE *outlet_begin(struct outlet_text *text);

/* Adds the text to the output. If there is no room, waits for a reader that has read something in
   the last second, unless `stops` is NULL or *stops is true. Several threads may add at once. */
void outlet_end(struct outlet *outlet, struct outlet_text *text, const atomic_bool *stops);

/* Checks whether all text that was added has been written. */
bool outlet_is_idle(struct outlet *outlet);

/* Checks whether writing has failed, for example to a closed pipe. */
bool outlet_has_failed(const struct outlet *outlet);

/* Waits as long as the reader reads, and one second more. Returns the errno of a failure, or 0.
   Sets *lost to the number of lines that were not written since the start. */
int outlet_close(struct outlet *outlet, uint64_t *lost);

#endif
