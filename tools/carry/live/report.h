/* SPDX-License-Identifier: MIT */
/*
 * What `carry live` prints: reports while it runs, and a summary at the end. `out` is what an
 * outlet writes.
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

/* "in" or "out". */
const char *report_live_direction(bool sent);

/* The packets that ring `number` lost beside a row; the rows of any share its ring. */
uint64_t report_live_drops(const struct live_report *report, const struct live_row *row);

/* Says on standard error that the interfaces are open: from now on, no packet is missed. */
void report_live_start(const struct live *live);

/* Lines: one for each interface and direction that had packets in the interval. */
void report_live_lines(FILE *out, const struct live_report *report);

/* The same on a screen, in place of what it showed before. */
void report_live_screen(FILE *out, const struct live_report *report);
void report_live_screen_clear(FILE *out);

/* An object; the last one is final. */
void report_live_json(FILE *out, const struct live_report *report, bool is_final);

/* A checksum of --bad-only. */
void report_live_finding_json(FILE *out, const char *interface, bool sent,
                              const struct carry_capture_finding *finding);

/* How many packets were dropped. */
void report_live_dropped(FILE *out, const struct live_counts *counts);

/* The summary at the end, of all threads; false without memory. */
bool report_live_end(FILE *out, const struct live *live, const struct watch *watches,
                     unsigned watches_count, const struct live_counts *counts);

#endif
