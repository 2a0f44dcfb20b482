/* SPDX-License-Identifier: MIT */
/*
 * The pass of `carry fix` over packets: puts checksums right where they stand, and says of each
 * that is left why.
 *
 * It is one pass, for pipes too. A sum over a fragmented datagram is put right once the last
 * fragment has come: in the input's window if the field still stands there, else in the output,
 * which is a file. Fragments are reassembled as `carry check` reassembles them, by the same rules
 * and within the same bounds, so that what is left is what it will find.
 *
 * Which IPv4 headers of 0 are partial, the whole input tells (header_senders.h). Where that matters
 * to what is repaired, a file is read once before, by repair_learn(); a pipe tells what it told by
 * then.
 */
#ifndef CARRY_TOOLS_REPAIR_H
#define CARRY_TOOLS_REPAIR_H

#include <stdio.h>

#include <carry/packet.h>

#include "capture/capture.h"
#include "capture/fix_report.h"
#include "capture/header_senders.h"
#include "capture/reassemble.h"
#include "common/output.h"

struct repair {
    struct capture *capture;
    struct output *output; /* of what leaves the capture's window; NULL: it goes nowhere */
    FILE *log;             /* NULL: none is wanted */
    struct carry_packet_options options;
    struct fix_report *report;
    struct reassembler *reassembler;
    struct header_senders *known; /* of what the input holds, as far as it was read or learned */
    struct reassembler *learner;
    uint64_t *called_bad; /* for each of these senders the headers of 0 repaired as bad ones */
    struct header_senders *headers; /* of what the copy holds */
    /* For each of these senders the headers of 0 that are left, and that the end settles. */
    struct fix_group (*waiting)[FIX_REASON_COUNT];
};

/*
 * With the options and the report set; repair_packet() needs all above the reassembler. False with
 * errno set.
 */
bool repair_open(struct repair *repair);

/* Do bad and partial sums differ in what is to become of them? */
bool repair_tells_apart(const struct repair *repair);

/* Learns what a packet tells of its senders, before the first one is repaired. */
void repair_learn(struct repair *repair, const struct packet *packet);

/* There are no more to learn from. */
void repair_learned(struct repair *repair);

/* Repairs the packet that the capture returned last. */
void repair_packet(struct repair *repair, const struct packet *packet);

/* No more packets come. False if memory was short: then the report is not complete. */
bool repair_end(struct repair *repair);

void repair_close(struct repair *repair);

#endif
