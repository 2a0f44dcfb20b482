/* SPDX-License-Identifier: MIT */
/* Declares the counts and groups that both reports of carry fix show. */
#ifndef CARRY_TOOLS_FIX_REPORT_PARTS_H
#define CARRY_TOOLS_FIX_REPORT_PARTS_H

#include "check/fix_report.h"

/* The type of carry_capture_repaired() and carry_capture_left(). */
typedef uint64_t fix_report_count_fn(const struct carry_capture_repairs *repairs, unsigned protocol,
                                     unsigned verdict);

/* A row of a table: the counts of a protocol by verdict. */
struct fix_report_row {
    uint64_t counts[CARRY_VERDICT_COUNT];
    bool any;
};

struct fix_report_row fix_report_row(const struct fix_report *report, fix_report_count_fn *count,
                                     unsigned protocol);

/* Calls `visit` for each group of sums that are left unrepaired for the same reason. */
void fix_report_groups(const struct fix_report *report, void *context,
                       void (*visit)(void *context, unsigned protocol, unsigned verdict,
                                     unsigned left, const struct carry_capture_group *group));

/* Returns how many frame numbers a group holds. */
unsigned fix_report_shown(const struct carry_capture_group *group);

#endif
