/* SPDX-License-Identifier: MIT */
/*
 * The first sums of a capture that its summary shows. Which these are, the end of the capture
 * tells: what was bad in its own frame may be partial by what else its sender sent. So there is
 * room for as many sums that may change as for others.
 */
#ifndef CARRY_CAPTURE_SRC_FINDINGS_H
#define CARRY_CAPTURE_SRC_FINDINGS_H

#include <carry/capture.h>

#include "flows.h"
#include "header_senders.h"

struct findings {
    struct carry_capture_finding *list; /* in the order of the packets */
    size_t count;
    size_t room;    /* how many are shown */
    size_t waiting; /* of those that are there, the ones that may change */
};

/* Makes it empty, with this room; false without memory. */
bool carry_findings_reserve(struct findings *findings, size_t room);
void carry_findings_close(struct findings *findings);

/* Is there room for a finding of this sum? Then carry_findings_add() takes it. */
bool carry_findings_want(const struct findings *findings, const struct carry_packet_sum *sum);
void carry_findings_add(struct findings *findings, const struct carry_capture_finding *finding);

/* Turns a finding of a bad IPv4 header's 0 into that of a partial one. */
void carry_finding_leave(struct carry_capture_finding *finding);

/* Settles what may change by all senders and flows of the capture, and keeps a set of verdicts. */
void carry_findings_settle(struct findings *findings, const struct header_senders *senders,
                           const struct flows *flows, unsigned listed);

#endif
