/* SPDX-License-Identifier: MIT */
/* The parts of the summary for people that have files of their own. */
#ifndef CARRY_TOOLS_REPORT_PARTS_H
#define CARRY_TOOLS_REPORT_PARTS_H

#include "capture/report.h"

/* How many sums of each protocol got which verdict; nothing if there are none. */
void report_table(const struct carry_capture_summary *summary);

/* Why sums are not good, and what was not looked at. */
void report_causes(const struct carry_capture_summary *summary);

/* The first sums that are listed, and how many more there are. */
void report_findings(const struct report *report);

#endif
