/* SPDX-License-Identifier: MIT */
/*
 * Prints the reports of `carry live`: while it runs, and at the end. `out` is a stream of an
 * outlet, or standard error.
 */
#ifndef CARRY_TOOLS_LIVE_REPORT_H
#define CARRY_TOOLS_LIVE_REPORT_H

#include <stdio.h>

#include "live/counts.h"

/* A report of an interval. */
struct live_report {
    const struct live *live;
    const struct live_counts *now;   /* since the start */
    const struct live_counts *since; /* in the interval */
};

/* Returns "in" or "out". */
const char *report_live_direction(bool sent);

/* Returns how many packets the ring of a row's interface dropped in the interval; all rows of
   RING_ANY share one ring. */
uint64_t report_live_drops(const struct live_report *report, const struct live_row *row);

/* Reports on standard error that the interfaces are open: from now on, no packet is missed. */
void report_live_start(const struct live *live);

/* Prints a line for each interface and direction that had packets in the interval. */
void report_live_lines(FILE *out, const struct live_report *report);

/* Draws the counts and rates of each interface, direction and protocol on a terminal, replacing the
 * previous report. */
void report_live_screen(FILE *out, const struct live_report *report);
void report_live_screen_clear(FILE *out);

/* Prints a report as a JSON object; `is_final` marks the last one. */
void report_live_json(FILE *out, const struct live_report *report, bool is_final);

/* Prints a checksum of --bad-only as a JSON object. */
void report_live_finding_json(FILE *out, const char *interface, bool sent,
                              const struct carry_capture_finding *finding);

/* Prints how many packets were dropped. */
void report_live_dropped(FILE *out, const struct live_counts *counts);

/* Prints the final summary over all threads; false if there is no memory. */
bool report_live_end(FILE *out, const struct live *live, const struct watch *watches,
                     unsigned watches_count, const struct live_counts *counts);

#endif
