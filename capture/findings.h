/* SPDX-License-Identifier: MIT */
/*
 * Keeps the first sums of a capture that its summary lists. Only the end of the capture shows which
 * sums these are: other packets of a sender may turn a bad sum into a partial one. So the sums that
 * may change, and all other sums, each get room for the whole list.
 */
#ifndef CARRY_CAPTURE_SRC_FINDINGS_H
#define CARRY_CAPTURE_SRC_FINDINGS_H

#include <carry/capture.h>

#include "flows.h"
#include "header_senders.h"

struct kept_finding {
    struct carry_capture_finding finding;
    struct header_key sender; /* the sender of a lone header */
};

struct findings {
    struct kept_finding *list; /* in the order of the packets */
    size_t count;
    size_t room;    /* the most that are listed at the end */
    size_t waiting; /* how many findings of the list may still change */
};

/* Empties the list, and makes room for `room` findings. Returns false if there is no memory. */
bool carry_findings_reserve(struct findings *findings, size_t room);
void carry_findings_close(struct findings *findings);

/* Checks whether there is room for a finding of this sum. If not, carry_findings_add() must not be
   called. */
bool carry_findings_want(const struct findings *findings, const struct carry_packet_sum *sum);
void carry_findings_add(struct findings *findings, const struct kept_finding *kept);

/* Sets the verdict and the cause of a finding by the senders and flows of the whole capture. */
void carry_finding_settle(struct kept_finding *kept, const struct header_senders *senders,
                          const struct flows *flows);

/* Turns the finding of an IPv4 header that holds 0 from a bad sum into a partial one. */
void carry_finding_leave(struct carry_capture_finding *finding);

/* Settles the sums that may change, by all senders and flows of the capture. Keeps only findings
   whose verdicts are in `listed`. */
void carry_findings_settle(struct findings *findings, const struct header_senders *senders,
                           const struct flows *flows, unsigned listed);

#endif
