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

void carry_findings_add(struct findings *findings, const struct kept_finding *kept) {
    findings->waiting += carry_header_senders_is_alone(&kept->finding.sum);
    findings->list[findings->count] = *kept;
    findings->list[findings->count++].finding.packet = NULL;
}

void carry_finding_leave(struct carry_capture_finding *finding) {
    const struct evidence left = carry_cause_left();
    carry_cause_leave(&finding->sum);
    finding->cause = left.cause;
    finding->certainty = left.certainty;
}

void carry_finding_settle(struct kept_finding *kept, const struct header_senders *senders,
                          const struct flows *flows) {
    if (carry_header_senders_is_alone(&kept->finding.sum) &&
        carry_header_senders_leaves(senders, &kept->sender))
        carry_finding_leave(&kept->finding);
    kept->finding.cause = carry_flows_settle(flows, &kept->finding);
}

void carry_findings_settle(struct findings *findings, const struct header_senders *senders,
                           const struct flows *flows, unsigned listed) {
    size_t kept = 0;
    for (size_t i = 0; i < findings->count && kept < findings->room; i++) {
        carry_finding_settle(&findings->list[i], senders, flows);
        if (verdict_is_in(findings->list[i].finding.sum.verdict, listed))
            findings->list[kept++] = findings->list[i];
    }
    findings->count = kept;
    findings->waiting = 0;
}
