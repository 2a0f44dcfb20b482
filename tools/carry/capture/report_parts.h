/* SPDX-License-Identifier: MIT */
/* The parts of the summary for people that have files of their own. */
#ifndef CARRY_TOOLS_REPORT_PARTS_H
#define CARRY_TOOLS_REPORT_PARTS_H

#include "capture/report.h"

/* How many sums of each protocol got which verdict; nothing if there are none. */
void report_table(FILE *out, const struct carry_capture_summary *summary);

/* Why sums are not good, and what was not looked at. */
void report_causes(FILE *out, const struct carry_capture_summary *summary);

/* The same, a line a sentence; and what the verdicts come to, without the end of its line. */
void report_write_causes(FILE *out, const struct carry_capture_summary *summary);
void report_write_outcome(FILE *out, const struct carry_capture_summary *summary, unsigned wrong);

/* Of one sum: "10.0.0.5:443 -> 10.0.0.9:51200", and its values, in buffers of TEXT_SIZE. */
#define REPORT_ROUTE_SIZE (2 * ADDRESS_SIZE + 8)
char *report_route(char *buffer, const struct carry_capture_finding *finding);
char *report_stored(char *buffer, const struct carry_capture_finding *finding);
char *report_expected(char *buffer, const struct carry_capture_finding *finding);

/* The first sums that are listed, and how many more there are. */
void report_findings(FILE *out, const struct report *report);

#endif
