/* SPDX-License-Identifier: MIT */
/*
 * Summarises a capture in memory of fixed size: counts of each protocol's sums by verdict, reason
 * and cause, the senders of bad, partial and illegal sums, and the first findings.
 */
#ifndef CARRY_CAPTURE_SRC_SUMMARY_H
#define CARRY_CAPTURE_SRC_SUMMARY_H

#include <carry/capture.h>

#include "cause.h"
#include "findings.h"
#include "flows.h"
#include "header_senders.h"
#include "senders.h"
#include "timeline.h"
#include "verdict.h"

/* Counts that can be added in any order. Totals that are not counted here are 0. */
struct tally {
    struct carry_capture_totals totals;
    uint64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    uint64_t reasons[CARRY_PROTOCOL_COUNT][CARRY_REASON_COUNT];
    uint64_t causes[CARRY_PROTOCOL_COUNT][CARRY_CAPTURE_CAUSE_COUNT];
    uint64_t certain[CARRY_PROTOCOL_COUNT];
    struct timeline timeline; /* empty unless requested */
};

/* The most link types unknown to the walk whose packets are counted by link type. */
#define UNKNOWN_LINKS 16

struct unknown_link {
    uint32_t linktype;
    uint64_t packets;
};

/*
 * A tally, and results that depend on the order of the packets.
 *
 * Sums of headers that hold 0, and causes, are first counted as their own frames show them.
 * carry_summary_settle() recounts them by their senders' other packets, and by their flows.
 */
struct carry_capture_summary {
    struct tally tally;
    uint64_t reassembly[CARRY_CAPTURE_REASSEMBLY_COUNT];
    /* One row per protocol, with one element per verdict. Only elements whose verdicts make
       findings are used. */
    struct senders (*senders)[CARRY_VERDICT_COUNT];
    struct header_senders *headers;
    struct flows *flows;
    struct link_memory link;
    struct unknown_link unknown[UNKNOWN_LINKS];
    unsigned unknown_used; /* packets of further link types count in totals.unknown_links only */
    struct findings findings;
};

/* Counts a verdict, and returns whether the sum is good. If not, carry_tally_add_imperfect() must
   be called. */
static inline bool carry_tally_add(struct tally *tally, const struct carry_packet_sum *sum) {
    tally->counts[sum->protocol][sum->verdict]++;
    return __builtin_expect(sum->verdict == CARRY_VERDICT_GOOD, 1);
}

/* Counts a packet, but not its sums. A time of 0 (unknown) is never the earliest. */
static inline void carry_totals_add(struct carry_capture_totals *totals,
                                    const struct carry_capture_packet *packet) {
    totals->packets++;
    totals->bytes += packet->captured;
    if (packet->time_ns - 1 < totals->first_ns - 1)
        totals->first_ns = packet->time_ns;
    if (packet->time_ns > totals->last_ns)
        totals->last_ns = packet->time_ns;
}

/* Counts cause and reason of a sum that is not good. `frame` holds the sum, or completed the
   datagram that holds it. */
void carry_tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                               const struct carry_packet_sum *sum, const struct evidence *evidence);

/* Removes from the counts a sum that was unverifiable because its packet is a fragment. */
void carry_tally_supersede(struct tally *tally, unsigned protocol);

void carry_tally_merge(struct tally *into, const struct tally *from);

/* Empties the summary, and makes room for `findings` findings. Returns false if there is no
   memory. */
bool carry_summary_clear(struct carry_capture_summary *summary, size_t findings);

/*
 * Remembers the sender of a sum with verdict_is_finding(). Returns the verdict that all packets so
 * far show. It differs from sum->verdict if a header is left to its sender's network card, unless
 * frames are judged `alone`.
 */
unsigned carry_summary_add_sender(struct carry_capture_summary *summary,
                                  const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum, bool alone);

/* Counts a packet of a link type that the walk does not know. */
void carry_summary_add_unknown(struct carry_capture_summary *summary,
                               const struct carry_capture_packet *packet);

/*
 * Settles the summary at the end of a capture: counts headers whose senders leave them to their
 * network cards as partial, applies the causes that flows show, and keeps the findings with
 * verdicts in `listed`.
 */
void carry_summary_settle(struct carry_capture_summary *summary, unsigned listed);

/* Fills in `finding`, except its packet, from a sum of a packet. */
void carry_finding_describe(struct carry_capture_finding *finding,
                            const struct carry_capture_packet *packet,
                            const struct carry_packet_sum *sum, const struct evidence *evidence);

#endif
