/* SPDX-License-Identifier: MIT */
/* What was counted up to some moment, by interface and direction, of all threads together. */
#ifndef CARRY_TOOLS_LIVE_COUNTS_H
#define CARRY_TOOLS_LIVE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "live/watch.h"

/* One direction of an interface; numbers only grow, except those of sums that are judged anew. */
struct live_row {
    unsigned interface; /* its number */
    bool sent;
    uint64_t packets, bytes;
    uint64_t sums[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
};

struct live_counts {
    int64_t time_ns;       /* as clock_ns() */
    struct live_row *rows; /* by interface, what it received before what it sent */
    unsigned rows_count;
    uint64_t drops[LIVE_INTERFACES_MAX]; /* by ring */
};

/* Counts anew; false without memory. Start with a struct of zeros, end with counts_free(). */
bool counts_take(struct live_counts *counts, struct watch *watches, unsigned watches_count);
void counts_free(struct live_counts *counts);

/* What came since `before`, which is older; false without memory. */
bool counts_subtract(struct live_counts *since, const struct live_counts *now,
                     const struct live_counts *before);

/*
 * Raises what `now` has more of; false without memory. Sums that are judged anew let a number
 * shrink, which a reader of counters takes for a restart.
 */
bool counts_raise(struct live_counts *counts, const struct live_counts *now);

uint64_t counts_packets(const struct live_counts *counts);
uint64_t counts_drops(const struct live_counts *counts);

/* True if a protocol occurred. */
bool counts_has(const struct live_row *row, unsigned protocol);

/* Sums of all protocols with a verdict of a set. */
uint64_t counts_sums(const struct live_row *row, unsigned verdicts);

#endif
