/* SPDX-License-Identifier: MIT */
/*
 * The first sums of a capture that its summary shows. Which these are, the end of the capture
 * tells: what was bad in its own frame may be partial by what else its sender sent. So there is
 * room for as many sums that may change as for others.
 */
#ifndef CARRY_TOOLS_FINDINGS_H
#define CARRY_TOOLS_FINDINGS_H

#include "capture/tally.h"

struct findings {
    struct finding *list; /* in the order of the packets */
    size_t count;
    size_t room;    /* how many are shown */
    size_t waiting; /* of those that are there, the ones that may change */
};

/* False with errno set. findings_close() takes what was never opened too. */
bool findings_open(struct findings *findings, size_t room);
void findings_close(struct findings *findings);

/* Is there room for a finding of this sum? Then findings_add() takes it. */
bool findings_want(const struct findings *findings, const struct carry_packet_sum *sum);
void findings_add(struct findings *findings, const struct finding *finding);

/* Settles what may change by a settled tally, and keeps what is in a set of verdicts. */
void findings_settle(struct findings *findings, const struct tally *tally, unsigned listed);

#endif
