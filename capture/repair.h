/* SPDX-License-Identifier: MIT */
/*
 * The pass of carry_capture_fix() over packets: puts checksums right where they stand, and says of
 * each that is left why.
 *
 * It is one pass, for pipes too. A sum over a fragmented datagram is put right once the last
 * fragment has come: in the input's window if the field still stands there, else in what was
 * written, if the sink can do that. Fragments are reassembled as carry_capture_check() reassembles
 * them, by the same rules and within the same bounds, so that what is left is what it will find.
 *
 * Which IPv4 headers of 0 are partial, the whole input tells (header_senders.h). Where that matters
 * to what is repaired, a file is read once before, by carry_repair_learn(); a pipe tells what it
 * told by then.
 */
#ifndef CARRY_CAPTURE_SRC_REPAIR_H
#define CARRY_CAPTURE_SRC_REPAIR_H

#include "format.h"
#include "header_senders.h"
#include "reassemble.h"
#include "repairs.h"

struct repair {
    struct carry_capture *capture;
    const struct carry_capture_sink *sink; /* of what leaves the window; NULL: it goes nowhere */
    int sink_error;                        /* errno */
    struct carry_capture_fix_options options;
    bool cancelled; /* by options.change */
    struct carry_capture_repairs *repairs;
    struct reassembler *reassembler;
    struct header_senders *known; /* of what the input holds, as far as it was read or learned */
    struct reassembler *learner;
    uint64_t *called_bad; /* for each of these senders the headers of 0 repaired as bad ones */
    struct header_senders *headers; /* of what the copy holds */
    /* For each of these senders the headers of 0 that are left, and that the end settles. */
    struct carry_capture_group (*waiting)[LEFT_SLOTS];
};

/* With all set that stands before the reassembler. False without memory. */
bool carry_repair_open(struct repair *repair);

/* Do bad and partial sums differ in what is to become of them? */
bool carry_repair_tells_apart(const struct carry_packet_options *options);

/* Learns what a packet tells of its senders, before the first one is repaired. */
void carry_repair_learn(struct repair *repair, const struct carry_capture_packet *packet);

/* There are no more to learn from. */
void carry_repair_learned(struct repair *repair);

/* Repairs the packet that the capture returned last. */
void carry_repair_packet(struct repair *repair, const struct carry_capture_packet *packet);

/* No more packets come. False if memory was short: then the account is not complete. */
bool carry_repair_end(struct repair *repair);

void carry_repair_close(struct repair *repair);

#endif
