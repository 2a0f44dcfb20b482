/* SPDX-License-Identifier: MIT */
/*
 * Keeps the first sums of a capture that its summary lists. Which sums these are is certain only at
 * the end of the capture: a sum that is bad in its own frame may be partial by other packets of its
 * sender. So sums that may change and all others each get room for the whole list.
 */
#ifndef CARRY_CAPTURE_SRC_FINDINGS_H
#define CARRY_CAPTURE_SRC_FINDINGS_H

#include <carry/capture.h>

#include "flows.h"
#include "header_senders.h"

struct findings {
    struct carry_capture_finding *list; /* in the order of the packets */
    size_t count;
    size_t room;    /* the most that are listed at the end */
    size_t waiting; /* how many of them may still change */
};

/* Empties the list, with room for `room` findings; false if there is no memory. */
bool carry_findings_reserve(struct findings *findings, size_t room);
void carry_findings_close(struct findings *findings);

/* Checks whether there is room for a finding of this sum; if not, carry_findings_add() must not be
   called. */
bool carry_findings_want(const struct findings *findings, const struct carry_packet_sum *sum);
void carry_findings_add(struct findings *findings, const struct carry_capture_finding *finding);

/* Turns the finding of an IPv4 header that holds 0 from a bad sum into a partial one. */
void carry_finding_leave(struct carry_capture_finding *finding);

/* Settles the sums that may change, by all senders and flows of the capture. Keeps only findings
   whose verdicts are in `listed`. */
void carry_findings_settle(struct findings *findings, const struct header_senders *senders,
                           const struct flows *flows, unsigned listed);

#endif
