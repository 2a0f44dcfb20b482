/* SPDX-License-Identifier: MIT */
/*
 * What was found in a capture, in memory of fixed size: how many sums of each protocol got which
 * verdict, and who sent those that are not good.
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

/* What adds up in any order. Totals that it does not count are 0. */
struct tally {
    struct carry_capture_totals totals;
    uint64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    uint64_t reasons[CARRY_PROTOCOL_COUNT][CARRY_REASON_COUNT];
    uint64_t causes[CARRY_PROTOCOL_COUNT][CARRY_CAPTURE_CAUSE_COUNT];
    uint64_t certain[CARRY_PROTOCOL_COUNT];
    struct timeline timeline; /* empty unless it was asked for */
};

/* Packets of a link type that the walk does not know. */
#define UNKNOWN_LINKS 16

struct unknown_link {
    uint32_t linktype;
    uint64_t packets;
};

/*
 * A tally, and what depends on the order of the packets.
 *
 * Headers whose sums hold 0, and causes, count by their own frames at first. carry_summary_settle()
 * counts them by what else their senders sent, and by their flows.
 */
struct carry_capture_summary {
    struct tally tally;
    uint64_t reassembly[CARRY_CAPTURE_REASSEMBLY_COUNT];
    /* A row a protocol, a place a verdict; of the verdicts that are findings. */
    struct senders (*senders)[CARRY_VERDICT_COUNT];
    struct header_senders *headers;
    struct flows *flows;
    struct link_memory link;
    struct unknown_link unknown[UNKNOWN_LINKS];
    unsigned unknown_used; /* packets of still other link types are in totals.unknown_links only */
    struct findings findings;
};

/* Counts a verdict. Is it good? If not, carry_tally_add_imperfect() is due. */
static inline bool carry_tally_add(struct tally *tally, const struct carry_packet_sum *sum) {
    tally->counts[sum->protocol][sum->verdict]++;
    return __builtin_expect(sum->verdict == CARRY_VERDICT_GOOD, 1);
}

/* Counts a packet, except what it holds. A time of 0, which is not known, is never the earliest. */
static inline void carry_totals_add(struct carry_capture_totals *totals,
                                    const struct carry_capture_packet *packet) {
    totals->packets++;
    totals->bytes += packet->captured;
    if (packet->time_ns - 1 < totals->first_ns - 1)
        totals->first_ns = packet->time_ns;
    if (packet->time_ns > totals->last_ns)
        totals->last_ns = packet->time_ns;
}

/* Counts what is said of a sum that is not good, which the frame holds, or completed the datagram
   of. */
void carry_tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                               const struct carry_packet_sum *sum, const struct evidence *evidence);

/* Takes back one that was unverifiable for being in a fragment. */
void carry_tally_supersede(struct tally *tally, unsigned protocol);

void carry_tally_merge(struct tally *into, const struct tally *from);

/* Makes it empty, with room for so many findings; false without memory for them. */
bool carry_summary_clear(struct carry_capture_summary *summary, size_t findings);

/*
 * Remembers the sender of a sum with verdict_is_finding(). Returns the verdict by all that was
 * seen so far: it differs from the sum's own where a header is left to its sender's network card,
 * unless frames are judged `alone`.
 */
unsigned carry_summary_add_sender(struct carry_capture_summary *summary,
                                  const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum, bool alone);

/* Counts one packet of a link type that the walk does not know. */
void carry_summary_add_unknown(struct carry_capture_summary *summary,
                               const struct carry_capture_packet *packet);

/*
 * At the end of a capture: counts the headers whose senders leave them to their cards as partial,
 * and causes by what flows show, and keeps the findings with a verdict of a set.
 */
void carry_summary_settle(struct carry_capture_summary *summary, unsigned listed);

/* Describes a sum of a packet; `finding` then lacks the packet. */
void carry_finding_describe(struct carry_capture_finding *finding,
                            const struct carry_capture_packet *packet,
                            const struct carry_packet_sum *sum, const struct evidence *evidence);

#endif
