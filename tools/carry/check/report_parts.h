/* SPDX-License-Identifier: MIT */
/* Declares the parts of the text summary that have their own files. */
#ifndef CARRY_TOOLS_REPORT_PARTS_H
#define CARRY_TOOLS_REPORT_PARTS_H

#include "check/report.h"

/* Prints how many sums of each protocol have which verdict; nothing if there are none. */
void report_table(FILE *out, const struct carry_capture_summary *summary);

/* Prints why sums are not good, and what was not examined. */
void report_causes(FILE *out, const struct carry_capture_summary *summary);

/* Write these, one sentence a line; and the overall result, without a line end. */
void report_write_causes(FILE *out, const struct carry_capture_summary *summary);
void report_write_outcome(FILE *out, const struct carry_capture_summary *summary, unsigned wrong);

/* Write parts of one finding: the route "10.0.0.5:443 -> 10.0.0.9:51200" to a buffer of
   REPORT_ROUTE_SIZE, and its values to buffers of TEXT_SIZE. */
#define REPORT_ROUTE_SIZE (2 * ADDRESS_SIZE + 8)
char *report_route(char *buffer, const struct carry_capture_finding *finding);
char *report_stored(char *buffer, const struct carry_capture_finding *finding);
char *report_expected(char *buffer, const struct carry_capture_finding *finding);

/* Prints the first sums that are listed, and how many more there are. */
void report_findings(FILE *out, const struct report *report);

#endif
