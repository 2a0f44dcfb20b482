/* SPDX-License-Identifier: MIT */
/*
 * Puts fragmented datagrams together again, so that the sums over them can be verified.
 *
 *     size_t count = carry_packet_check_fragment(&frame, options, sums, capacity, &fragment);
 *     if (fragment.version)
 *         for (datagram = reassembler_add(reassembler, &packet, &fragment, sums, count); datagram;
 *              datagram = reassembler_next(reassembler))
 *             use(datagram->fresh, datagram->fresh_count);
 *
 * Frames come in the order of the capture. Fragments belong together that have in common what RFC
 * 791 and RFC 8200 say (addresses, identification, over IPv4 the protocol), and the scope and the
 * interface, since a capture may see one datagram in two places.
 *
 * Any part may be hostile. Memory is bounded: where it runs out, the datagrams that waited longest
 * for a part are given up. Time is linear in the bytes of the fragments: nothing is searched or
 * sorted, and the hash table's seed is a secret. A datagram is given up REASSEMBLER_SECONDS after
 * its first part, by the clock of the capture: RFC 8200 says 60, RFC 1122 at least that much.
 *
 * Parts that overlap make a datagram's content uncertain, and are a known attack (RFC 5722). Over
 * IPv6 only an exact repetition of a part is accepted, over IPv4 parts that say the same of the
 * bytes that they share. Any other datagram is refused, with all parts that still come.
 */
#ifndef CARRY_TOOLS_REASSEMBLE_H
#define CARRY_TOOLS_REASSEMBLE_H

#include <carry/packet.h>

#include "capture.h"

#define REASSEMBLER_BYTES_MAX     (16u << 20)
#define REASSEMBLER_DATAGRAMS_MAX 4096u
#define REASSEMBLER_SECONDS       60u

/* What became of fragmented datagrams. */
enum reassembly {
    REASSEMBLY_COMPLETE,    /* put together */
    REASSEMBLY_MISSING,     /* parts did not come, or not in time */
    REASSEMBLY_OVERLAPPING, /* parts contradict each other */
    REASSEMBLY_MALFORMED,   /* a part that cannot be: no bytes, or beyond the longest datagram */
    REASSEMBLY_EVICTED,     /* given up for want of memory */
    REASSEMBLY_COUNT
};

/* A datagram put together. */
struct datagram {
    /* It looks like a frame of raw IP, and has number, time and interface of the frame that
       completed it. Where fragments were cut by the capture, it is cut at the first gap. */
    struct packet packet;
    uint32_t located; /* bytes of it that stand in one piece at packet.offset in the file */

    const struct carry_packet_sum *sums; /* of the datagram, its own IP header's included */
    size_t count;

    /* Of these, the ones that the first fragment could not tell. */
    struct carry_packet_sum fresh[CARRY_PACKET_SUMS_MAX];
    size_t fresh_count;

    /* The protocols of those that it listed as unverifiable, for being a fragment. They stand for
       the same sums: count them no longer. */
    uint8_t superseded[CARRY_PACKET_SUMS_MAX];
    size_t superseded_count;
    uint64_t superseded_frame; /* the first fragment's number */
};

struct reassembler;

/* Datagrams are judged by `options`, or NULL, as frames are. NULL with errno set. */
struct reassembler *reassembler_create(const struct carry_packet_options *options);
void reassembler_free(struct reassembler *reassembler);

/*
 * Takes the fragment and the sums that carry_packet_check_fragment() found in a packet. The
 * datagram that is complete now, or NULL; it is valid until the next call.
 */
const struct datagram *reassembler_add(struct reassembler *reassembler, const struct packet *packet,
                                       const struct carry_packet_fragment *fragment,
                                       const struct carry_packet_sum *sums, size_t count);

/* The same for the datagram just returned, which may hold a fragment of another. */
const struct datagram *reassembler_next(struct reassembler *reassembler);

/* Gives up what is incomplete. To be called at the end, before the counts are read. */
void reassembler_end(struct reassembler *reassembler);

/* How many datagrams, by enum reassembly. */
const uint64_t *reassembler_counts(const struct reassembler *reassembler);

/* Bytes allocated for datagrams at present, at most REASSEMBLER_BYTES_MAX. */
size_t reassembler_bytes(const struct reassembler *reassembler);

/* Static strings: "complete", "missing". */
const char *reassembly_name(enum reassembly reassembly);

#endif
