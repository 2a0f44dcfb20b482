/* SPDX-License-Identifier: MIT */
/* Provides the functions that reports about summaries share. */
#include "check/report.h"

#include <stdio.h>

static const enum colour verdict_colours[CARRY_VERDICT_COUNT] = {
    [CARRY_VERDICT_GOOD] = COLOUR_GREEN,
    [CARRY_VERDICT_BAD] = COLOUR_RED,
    [CARRY_VERDICT_PARTIAL] = COLOUR_YELLOW,
    [CARRY_VERDICT_ILLEGAL] = COLOUR_RED,
};

enum colour report_verdict_colour(unsigned verdict) {
    return verdict_colours[verdict];
}

char *report_packets(char *buffer, uint64_t packets, uint64_t unselected) {
    char selected[TEXT_SIZE], all[TEXT_SIZE];
    text_count(selected, packets);
    text_count(all, packets + unselected);
    if (unselected)
        snprintf(buffer, REPORT_PACKETS_SIZE, "%s of %s packet%s", selected, all,
                 text_plural(packets + unselected));
    else
        snprintf(buffer, REPORT_PACKETS_SIZE, "%s packet%s", selected, text_plural(packets));
    return buffer;
}

const char *report_certain(const struct carry_capture_finding *finding) {
    static const char *const words[] = {
        [CARRY_CAPTURE_COMPUTED] = NULL,
        [CARRY_CAPTURE_INFERRED] = "false",
        [CARRY_CAPTURE_CERTAIN] = "true",
    };
    return words[finding->certainty];
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
