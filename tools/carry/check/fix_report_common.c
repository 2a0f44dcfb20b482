/* SPDX-License-Identifier: MIT */
/* Provides the functions that the reports as text and as JSON share. */
#include "check/fix_report_parts.h"

unsigned fix_report_shown(const struct carry_capture_group *group) {
    return group->count < CARRY_CAPTURE_GROUP_FRAMES ? (unsigned)group->count
                                                     : CARRY_CAPTURE_GROUP_FRAMES;
}

void fix_report_groups(const struct fix_report *report, void *context,
                       void (*visit)(void *context, unsigned protocol, unsigned verdict,
                                     unsigned left, const struct carry_capture_group *group)) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
            uint64_t rest = carry_capture_left(report->repairs, protocol, verdict);
            for (unsigned left = 0; left < CARRY_CAPTURE_LEFT_COUNT && rest; left++) {
                const struct carry_capture_group *group =
                    carry_capture_left_group(report->repairs, protocol, verdict, left);
                rest -= group->count;
                if (group->count)
                    visit(context, protocol, verdict, left, group);
            }
        }
}

struct fix_report_row fix_report_row(const struct fix_report *report, fix_report_count_fn *count,
                                     unsigned protocol) {
    struct fix_report_row row = {.any = false};
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        row.counts[verdict] = count(report->repairs, protocol, verdict);
        row.any |= row.counts[verdict] > 0;
    }
    return row;
}
