/* SPDX-License-Identifier: MIT */
/*
 * Flows whose bad sums are all off by the same difference: what a change of an address or a port
 * leaves, where nobody updates the sums.
 *
 * A flow is known from its first bad sum on. It is then compared with all that follows, so packets
 * without a bad sum have to be taken too, while there are flows to refute. What does that in the
 * order of the packets gets the same result for any number of threads.
 */
#ifndef CARRY_CAPTURE_SRC_FLOWS_H
#define CARRY_CAPTURE_SRC_FLOWS_H

#include <carry/capture.h>

#include "cause.h"

/* So many flows are told apart. A new one then takes the place of one of 16, by turns: of one that
   was refuted, or else has the fewest bad sums. These keep the causes that their frames show. */
#define FLOWS_MAX 256

struct flows;

/* NULL without memory. carry_flows_free() takes NULL too. */
struct flows *carry_flows_create(void);
void carry_flows_free(struct flows *flows);

/* Forgets all flows. */
void carry_flows_clear(struct flows *flows);

/*
 * Takes a sum of packet `number`, in the order of packets and sums: a bad one with its cause, or a
 * good one. Returns the cause by all that was taken so far: for others than bad ones of the flow
 * kind, the same.
 */
enum carry_capture_cause carry_flows_add(struct flows *flows, const struct carry_frame *frame,
                                         uint64_t number, const struct carry_packet_sum *sum,
                                         enum carry_capture_cause cause);

/* Does carry_flows_add() keep a sum with this cause: is it a bad one of the flow kind? */
bool carry_flows_keeps(const struct carry_packet_sum *sum, unsigned cause);

/* Are there any? */
bool carry_flows_any(const struct flows *flows);

/* May this packet hold a good sum of a flow that is not refuted yet, and that has no bad one in it?
 */
bool carry_flows_want(const struct flows *flows, const struct carry_capture_packet *packet);

/* The cause of a finding by all that was taken; its own unless its flow shows another. */
enum carry_capture_cause carry_flows_settle(const struct flows *flows,
                                            const struct carry_capture_finding *finding);

/* May more packets change what carry_flows_settle() returns? */
bool carry_flows_may_change(const struct flows *flows, const struct carry_capture_finding *finding);

/* Moves what was counted by cause to where all that was taken puts it. */
void carry_flows_move(const struct flows *flows, uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]);

#endif
