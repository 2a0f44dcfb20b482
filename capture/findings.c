/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <stdlib.h>

#include "cause.h"
#include "verdict.h"

bool carry_findings_reserve(struct findings *findings, size_t room) {
    findings->count = findings->waiting = 0;
    if (findings->list && room == findings->room)
        return true;
    free(findings->list);
    *findings = (struct findings){.room = room};
    findings->list = calloc(2 * room + 1, sizeof *findings->list);
    return findings->list;
}

void carry_findings_close(struct findings *findings) {
    free(findings->list);
}

bool carry_findings_want(const struct findings *findings, const struct carry_packet_sum *sum) {
    bool waits = carry_header_senders_is_alone(sum);
    return (waits ? findings->waiting : findings->count - findings->waiting) < findings->room;
}

void carry_findings_add(struct findings *findings, const struct carry_capture_finding *finding) {
    findings->waiting += carry_header_senders_is_alone(&finding->sum);
    findings->list[findings->count] = *finding;
    findings->list[findings->count++].packet = NULL;
}

void carry_finding_leave(struct carry_capture_finding *finding) {
    const struct evidence left = carry_cause_left();
    carry_cause_leave(&finding->sum);
    finding->cause = left.cause;
    finding->certainty = left.certainty;
}

/* Applies to a sum what the rest of the capture showed of its sender. */
static void settle_finding(struct carry_capture_finding *finding,
                           const struct header_senders *senders) {
    if (!carry_header_senders_is_alone(&finding->sum) ||
        !carry_header_senders_leaves(senders, finding->from.bytes))
        return;
    carry_finding_leave(finding);
}

void carry_findings_settle(struct findings *findings, const struct header_senders *senders,
                           const struct flows *flows, unsigned listed) {
    size_t kept = 0;
    for (size_t i = 0; i < findings->count && kept < findings->room; i++) {
        struct carry_capture_finding *finding = &findings->list[i];
        settle_finding(finding, senders);
        finding->cause = carry_flows_settle(flows, finding);
        if (verdict_is_in(finding->sum.verdict, listed))
            findings->list[kept++] = *finding;
    }
    findings->count = kept;
    findings->waiting = 0;
}
