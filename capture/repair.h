/* SPDX-License-Identifier: MIT */
/*
 * Repairs the checksums of packets one by one for carry_capture_fix(), and reports why other
 * checksums are left unrepaired.
 *
 * Everything happens in one pass, so that pipes work too. A sum over a fragmented datagram is
 * repaired once the last fragment has arrived: in the input's window if the field is still there,
 * or in the written bytes, if the sink can rewrite. Fragments are reassembled by the same rules and
 * limits as in carry_capture_check(), so that a check of the copy finds exactly the sums that are
 * left.
 *
 * Only the whole input shows which lone headers (header_senders.h) are partial. Where the repair
 * depends on that, carry_repair_learn() gets all packets of a file in an earlier pass. For a pipe,
 * the evidence so far decides.
 */
#ifndef CARRY_CAPTURE_SRC_REPAIR_H
#define CARRY_CAPTURE_SRC_REPAIR_H

#include "format.h"
#include "header_senders.h"
#include "reassemble.h"
#include "repairs.h"
#include "spans.h"

struct repair {
    struct carry_capture *capture;
    const struct carry_capture_sink *sink; /* gets the bytes that leave the window; NULL: nothing is
                                              written */
    struct spans changed;                  /* of the bytes in the window that were read */
    int sink_error;                        /* errno */
    struct carry_capture_fix_options options;
    bool cancelled; /* options.change cancelled */
    struct carry_capture_repairs *repairs;
    struct reassembler *reassembler;
    struct header_senders *known; /* senders of the input, as far as it was read or learned */
    struct reassembler *learner;
    uint64_t *called_bad; /* per sender, the lone headers that were repaired as bad ones */
    struct header_senders *headers; /* senders of the copy */
    /* Per sender, the lone headers that are left unrepaired. Their verdicts are settled at the
       end. */
    struct carry_capture_group (*waiting)[LEFT_SLOTS];
};

/* Allocates the members from `reassembler` on, once all members before it are set. Returns false if
   there is no memory. */
bool carry_repair_open(struct repair *repair);

/* Checks whether either bad or partial sums are repaired, but not both. */
bool carry_repair_wants_either_only(const struct carry_packet_options *options);

/* Learns about the senders of a packet, before the first packet is repaired. */
void carry_repair_learn(struct repair *repair, const struct carry_capture_packet *packet);

/* Ends the learning about senders. */
void carry_repair_learned(struct repair *repair);

/* Repairs the packet that the capture returned last. */
void carry_repair_packet(struct repair *repair, const struct carry_capture_packet *packet);

/* Settles the report after the last packet. Returns false if memory was short: the report is then
   incomplete. */
bool carry_repair_end(struct repair *repair);

void carry_repair_close(struct repair *repair);

#endif
