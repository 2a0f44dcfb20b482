/* SPDX-License-Identifier: MIT */
/*
 * Finds flows whose bad sums all share a trait: the same difference, which results if an address or
 * port is changed and the sums are not updated; one value, whatever they cover; or one value plus
 * the length, like a sum of a pseudo-header that was left to a network card. The last two traits
 * also explain lone headers (header_senders.h) before such sums: the lone headers between two
 * addresses are a flow.
 *
 * Several flows between two addresses may share a trait, though each of them shows too little by
 * itself: see address_pairs.h.
 *
 * A flow is known from its first bad sum on. All later sums of the flow are compared with that
 * sum. So packets without a bad sum must be added too, while there are flows to refute. If packets
 * are added in their order, the result is the same for any number of threads.
 */
#ifndef CARRY_CAPTURE_SRC_FLOWS_H
#define CARRY_CAPTURE_SRC_FLOWS_H

#include <carry/capture.h>

#include "cause.h"
#include "header_senders.h"

/* The most flows that are kept. Once all are in use, a new flow replaces one of 16, which are
   chosen in turn: a refuted flow, or else the flow with the fewest bad sums. The sums of a replaced
   flow keep the causes that their frames show. */
#define FLOWS_MAX 256

struct flows;

/* Creates an empty table of flows. Returns NULL if there is no memory. carry_flows_free() accepts
   NULL. */
struct flows *carry_flows_create(void);
void carry_flows_free(struct flows *flows);

/* Forgets all flows. */
void carry_flows_clear(struct flows *flows);

/*
 * Adds a sum, in the order of packets and sums: a bad sum with its cause, or a good sum. `packet`
 * is the packet that holds the sum, or its datagram, which packet `number` completed. Returns the
 * cause that all sums added so far show, or `cause` if carry_flows_keeps() does not accept the sum.
 */
enum carry_capture_cause carry_flows_add(struct flows *flows,
                                         const struct carry_capture_packet *packet, uint64_t number,
                                         const struct carry_packet_sum *sum,
                                         enum carry_capture_cause cause);

/* Checks whether carry_flows_add() keeps a sum with this cause: a bad sum that a flow may explain.
   Lone headers are among these sums. */
bool carry_flows_keeps(const struct carry_packet_sum *sum, unsigned cause);

/* Checks whether there are any flows. */
bool carry_flows_any(const struct flows *flows);

/* Checks whether this packet may hold a good sum of a flow that is not refuted and that has no bad
   sum in this packet. */
bool carry_flows_want(const struct flows *flows, const struct carry_capture_packet *packet);

/* Returns the cause of a finding that all sums added show: the finding's own cause unless its flow,
   or the pair of its addresses, shows another. */
enum carry_capture_cause carry_flows_settle(const struct flows *flows,
                                            const struct carry_capture_finding *finding);

/* Keeps the first bad sums of each flow from now on, for carry_flows_others(). Returns false if
   there is no memory. */
bool carry_flows_keep_others(struct flows *flows);

/* Lists other bad sums of the flow of a finding that is not settled yet, from the flow's first bad
   sum on. If there are none, lists the bad sums of other flows between the same addresses. Returns
   how many are listed, and sets *total to how many there are. */
size_t carry_flows_others(const struct flows *flows, const struct carry_capture_finding *finding,
                          struct carry_capture_other list[CARRY_CAPTURE_OTHERS], uint64_t *total);

/* Checks whether more packets may change what carry_flows_settle() returns. */
bool carry_flows_may_change(const struct flows *flows, const struct carry_capture_finding *finding);

/* Moves the counts of sums to the causes that all sums added show, except the counts of lone
   headers that their senders leave to a network card. */
void carry_flows_move(const struct flows *flows, const struct header_senders *senders,
                      uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]);

#endif
