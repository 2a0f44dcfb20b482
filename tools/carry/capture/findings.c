/* SPDX-License-Identifier: MIT */
#include "capture/findings.h"

#include <stdlib.h>

bool findings_open(struct findings *findings, size_t room) {
    *findings = (struct findings){.room = room};
    findings->list = calloc(2 * room + 1, sizeof *findings->list);
    return findings->list;
}

void findings_close(struct findings *findings) {
    free(findings->list);
}

bool findings_want(const struct findings *findings, const struct carry_packet_sum *sum) {
    bool waits = header_senders_is_alone(sum);
    return (waits ? findings->waiting : findings->count - findings->waiting) < findings->room;
}

void findings_add(struct findings *findings, const struct finding *finding) {
    findings->waiting += header_senders_is_alone(&finding->sum);
    findings->list[findings->count++] = *finding;
}

void findings_settle(struct findings *findings, const struct tally *tally, unsigned listed) {
    size_t kept = 0;
    for (size_t i = 0; i < findings->count && kept < findings->room; i++) {
        struct finding *finding = &findings->list[i];
        if (tally_is_left(tally, &finding->sum, &finding->from))
            cause_leave(&finding->sum);
        if (tally_is_in(finding->sum.verdict, listed))
            findings->list[kept++] = *finding;
    }
    findings->count = kept;
    findings->waiting = 0;
}
