/* SPDX-License-Identifier: MIT */
/* Sums up the counts of all threads at some moment, by interface and direction. */
#ifndef CARRY_TOOLS_LIVE_COUNTS_H
#define CARRY_TOOLS_LIVE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "live/watch.h"

/* One direction of an interface. Counts only grow, except the counts of sums that are judged again.
 */
struct live_row {
    unsigned interface; /* number of the interface */
    bool sent;
    uint64_t packets, bytes;
    uint64_t sums[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
};

struct live_counts {
    int64_t time_ns;       /* of clock_ns() */
    struct live_row *rows; /* by interface, received packets before sent ones */
    unsigned rows_count;
    uint64_t drops[LIVE_INTERFACES_MAX]; /* dropped packets of each ring */
};

/* Replaces the counts by the current ones; false if there is no memory. Begin with a zeroed struct,
   and end with counts_free(). */
bool counts_take(struct live_counts *counts, struct watch *watches, unsigned watches_count);
void counts_free(struct live_counts *counts);

/* Counts what arrived since `before`, which is older; false if there is no memory. */
bool counts_subtract(struct live_counts *since, const struct live_counts *now,
                     const struct live_counts *before);

/*
 * Raises each count to the count in `now` if that is higher; false if there is no memory. Counts
 * may become smaller when sums are judged again, which readers of counters would mistake for a
 * restart.
 */
bool counts_raise(struct live_counts *counts, const struct live_counts *now);

uint64_t counts_packets(const struct live_counts *counts);
uint64_t counts_drops(const struct live_counts *counts);

/* Checks whether a protocol occurred. */
bool counts_has(const struct live_row *row, unsigned protocol);

/* Returns the number of sums of all protocols with a verdict in the set. */
uint64_t counts_sums(const struct live_row *row, unsigned verdicts);

#endif
