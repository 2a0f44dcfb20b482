/* SPDX-License-Identifier: MIT */
/* What the reports on summaries have in common. */
#include "capture/report.h"

static const enum colour verdict_colours[CARRY_VERDICT_COUNT] = {
    [CARRY_VERDICT_GOOD] = COLOUR_GREEN,
    [CARRY_VERDICT_BAD] = COLOUR_RED,
    [CARRY_VERDICT_PARTIAL] = COLOUR_YELLOW,
    [CARRY_VERDICT_ILLEGAL] = COLOUR_RED,
};

enum colour report_verdict_colour(unsigned verdict) {
    return verdict_colours[verdict];
}

bool report_has(const struct carry_capture_summary *summary, unsigned protocol) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (carry_capture_count(summary, protocol, verdict))
            return true;
    return false;
}

uint64_t report_skipped(const struct carry_capture_summary *summary) {
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    return totals->unknown_links + totals->deeper;
}
