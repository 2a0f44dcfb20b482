/* SPDX-License-Identifier: MIT */
/* Declares the parts of the text summary that have their own files. */
#ifndef CARRY_TOOLS_REPORT_PARTS_H
#define CARRY_TOOLS_REPORT_PARTS_H

#include "check/report.h"

/* Prints how many sums of each protocol have each verdict. Prints nothing if there are no sums. */
void report_table(FILE *out, const struct carry_capture_summary *summary);

/* Prints why sums are not good, and what was not examined. */
void report_causes(FILE *out, const struct carry_capture_summary *summary);

/* Prints how many bad or illegal sums have a cause, and how many have each cause. Prints nothing if
   there are no such sums. */
void report_cause_shares(FILE *out, const struct carry_capture_summary *summary);

/* Writes the sentences of report_causes(), one per line, or the overall result, which no line end
   follows. */
void report_write_causes(FILE *out, const struct carry_capture_summary *summary);
void report_write_outcome(FILE *out, const struct carry_capture_summary *summary, unsigned wrong);

/* Writes a part of one finding: the route, such as "10.0.0.5:443 -> 10.0.0.9:51200", to a buffer of
   REPORT_ROUTE_SIZE, or the stored or the expected value to a buffer of TEXT_SIZE. */
#define REPORT_ROUTE_SIZE (2 * ADDRESS_SIZE + 8)
char *report_route(char *buffer, const struct carry_capture_finding *finding);
char *report_stored(char *buffer, const struct carry_capture_finding *finding);
char *report_expected(char *buffer, const struct carry_capture_finding *finding);

/* Prints the first sums that are listed, and how many more there are. */
void report_findings(FILE *out, const struct report *report);

#endif
