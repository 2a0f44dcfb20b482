/* SPDX-License-Identifier: MIT */
/* The parts of the summary for people that have files of their own. */
#ifndef CARRY_TOOLS_REPORT_PARTS_H
#define CARRY_TOOLS_REPORT_PARTS_H

#include <stdint.h>

#include "capture/report.h"
#include "capture/tally.h"

/* How many sums of each protocol got which verdict; nothing if there are none. */
void report_table(const struct tally *tally);

/* Why sums are not good, and what was not looked at; `reassembly` as in struct report. */
void report_causes(const struct tally *tally, const uint64_t *reassembly);

/* The first sums that are listed, and how many more there are. */
void report_findings(const struct report *report);

#endif
