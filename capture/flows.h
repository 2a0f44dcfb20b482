/* SPDX-License-Identifier: MIT */
/*
 * Finds flows whose bad sums all share a trait: the same difference, as a changed address or port
 * causes where the sums are not updated; one value, whatever they cover; or one value plus the
 * length, as a sum of a pseudo-header that was left to a network card. The last one also explains
 * lone headers (header_senders.h) in front of such sums: those between two addresses are a flow.
 *
 * A flow is known from its first bad sum on. All later packets of the flow are then compared with
 * it, so packets without a bad sum must be added too while there are flows to refute. If packets
 * are added in their order, the result is the same for any number of threads.
 */
#ifndef CARRY_CAPTURE_SRC_FLOWS_H
#define CARRY_CAPTURE_SRC_FLOWS_H

#include <carry/capture.h>

#include "cause.h"
#include "header_senders.h"

/* The most flows that are kept. A new one then replaces one of 16, in turn: a refuted one, or else
   the one with the fewest bad sums. The sums of a replaced flow keep the causes that their frames
   show. */
#define FLOWS_MAX 256

struct flows;

/* Returns NULL if there is no memory. carry_flows_free() accepts NULL. */
struct flows *carry_flows_create(void);
void carry_flows_free(struct flows *flows);

/* Forgets all flows. */
void carry_flows_clear(struct flows *flows);

/*
 * Adds a sum, in the order of packets and sums: a bad one with its cause, or a good one. `packet`
 * holds it, or is its datagram, which packet `number` completed. Returns the cause that all sums
 * added so far show; `cause` itself unless the sum is one that carry_flows_keeps() accepts.
 */
enum carry_capture_cause carry_flows_add(struct flows *flows,
                                         const struct carry_capture_packet *packet, uint64_t number,
                                         const struct carry_packet_sum *sum,
                                         enum carry_capture_cause cause);

/* Checks whether carry_flows_add() keeps a sum with this cause: a bad one that a flow may
   explain. These include lone headers. */
bool carry_flows_keeps(const struct carry_packet_sum *sum, unsigned cause);

/* Checks whether there are any flows. */
bool carry_flows_any(const struct flows *flows);

/* Checks whether this packet may hold a good sum of a flow that is not refuted and has no bad sum
   in this packet. */
bool carry_flows_want(const struct flows *flows, const struct carry_capture_packet *packet);

/* Returns the cause of a finding by all sums added; its own unless its flow shows another. */
enum carry_capture_cause carry_flows_settle(const struct flows *flows,
                                            const struct carry_capture_finding *finding);

/* Checks whether more packets may change what carry_flows_settle() returns. */
bool carry_flows_may_change(const struct flows *flows, const struct carry_capture_finding *finding);

/* Moves the counts of sums to the causes that all sums added show; not those of lone headers that
   their senders leave. */
void carry_flows_move(const struct flows *flows, const struct header_senders *senders,
                      uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]);

#endif
