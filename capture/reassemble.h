/* SPDX-License-Identifier: MIT */
/*
 * Reassembles fragmented datagrams, so that the sums over them can be verified and repaired.
 *
 *     size_t count = carry_packet_check_fragment(&frame, options, sums, capacity, &fragment);
 *     if (fragment.version)
 *         datagram = carry_reassembler_add(reassembler, &packet, &fragment, sums, count);
 *     for (; datagram; datagram = carry_reassembler_next(reassembler))
 *         use(datagram->fresh, datagram->fresh_count);
 *
 * Frames come in the order of the capture. Fragments belong together that have in common what RFC
 * 791 and RFC 8200 say (addresses, identification, over IPv4 the protocol), and the scope and the
 * interface, since a capture may see one datagram in two places.
 *
 * Any fragment may be hostile. A datagram's memory is what it holds: the bytes that were captured
 * of its fragments, and a record of each. Beyond REASSEMBLER_BYTES_MAX or
 * REASSEMBLER_DATAGRAMS_MAX, the datagram that waited longest for a fragment is given up. Time
 * follows the bytes that were captured, too, whatever lengths the fragments claim; the hash table's
 * seed is a secret. A datagram is given up REASSEMBLER_SECONDS after its first fragment, by the
 * clock of the capture: RFC 8200 says 60, RFC 1122 at least that much.
 *
 * Of fragments that overlap, only exact repetitions are accepted over IPv6 (RFC 5722), and over
 * IPv4 those that say the same of the bytes that they share. Any other datagram is refused, with
 * all fragments that still come.
 */
#ifndef CARRY_CAPTURE_SRC_REASSEMBLE_H
#define CARRY_CAPTURE_SRC_REASSEMBLE_H

#include <carry/capture.h>

#define REASSEMBLER_BYTES_MAX     (16u << 20) /* that all datagrams hold together */
#define REASSEMBLER_DATAGRAMS_MAX 4096u       /* incomplete at a time */
#define REASSEMBLER_SECONDS       60u

/* A fragment as it came: in a frame, or in a datagram that was itself in fragments. */
struct source {
    struct source *next;     /* the one that came next */
    uint64_t frame;          /* the frame, or the one that completed the datagram around */
    uint64_t offset;         /* of its content in the file; CARRY_CAPTURE_NOWHERE: in a datagram */
    uint32_t place;          /* of that in the content of the datagram */
    uint32_t captured;       /* bytes of its content */
    uint32_t content_offset; /* of its content in the frame */
    bool covered;            /* a sum of a header around the fragment covers it */
    bool tag;                /* see carry_reassembler_tag() */
    size_t sums_count;
    struct carry_packet_sum sums[]; /* those that stand in its content, as they were judged there */
};

/* What bars the repair of a datagram. */
enum datagram_bar {
    DATAGRAM_FREE,
    DATAGRAM_NESTED,  /* a fragment came in a datagram that was itself in fragments */
    DATAGRAM_COVERED, /* a sum around a fragment covers it */
    DATAGRAM_WRITTEN, /* a fragment is beyond reach: see reassembler_repair_fn */
};

/* A datagram reassembled. */
struct datagram {
    /* It looks like a frame of raw IP, and has number, time and interface of the frame that
       completed it. Where fragments were cut by the capture, it is cut at the first gap. */
    struct carry_capture_packet packet;
    uint32_t located;     /* bytes of it that stand in one piece at packet.offset in the file */
    uint32_t header_size; /* of the first fragment's headers, behind which its content begins */
    const struct source *sources; /* the fragments that it consists of */
    bool holds_fragment;          /* of another datagram: carry_reassembler_next() adds that */

    /* What carry_reassembler_repair() asks for. */
    enum datagram_bar bar;
    struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
    size_t changes_count;

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

/* Datagrams are judged by `options`, or NULL, as frames are. NULL without memory. */
struct reassembler *carry_reassembler_create(const struct carry_packet_options *options);
void carry_reassembler_free(struct reassembler *reassembler);

/*
 * Calls `lost` for fragments of which no datagram came or will come, and why, whenever that is
 * certain. So each fragment added is either among a datagram's sources, or lost, once.
 */
typedef void reassembler_lost_fn(void *context, enum carry_capture_reassembly why,
                                 const struct source *sources);
void carry_reassembler_watch(struct reassembler *reassembler, reassembler_lost_fn *lost,
                             void *context);

/*
 * Has carry_packet_fix() repair datagrams before they are judged, unless there is a bar:
 * datagram->changes lists what changed in the content. `prepare` is asked of each datagram, as it
 * came, whether all of its fragments can still be changed, and which flags it needs beside those of
 * the options.
 */
typedef bool reassembler_repair_fn(void *context, const struct carry_frame *datagram,
                                   const struct source *sources, uint32_t *flags);
void carry_reassembler_repair(struct reassembler *reassembler, reassembler_repair_fn *prepare,
                              void *context);

/* What is added next bears this tag, for the caller. */
void carry_reassembler_tag(struct reassembler *reassembler, bool tag);

/*
 * Takes the fragment and the sums that carry_packet_check_fragment() found in a packet. The
 * datagram that is complete now, or NULL; it is valid until the next call.
 */
const struct datagram *carry_reassembler_add(struct reassembler *reassembler,
                                             const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment,
                                             const struct carry_packet_sum *sums, size_t count);

/* The same for the datagram just returned, which may hold a fragment of another. */
const struct datagram *carry_reassembler_next(struct reassembler *reassembler);

/*
 * Where in the file the first fragment stands of those datagrams that are incomplete, and of which
 * all fragments came from the offset `from` on; UINT64_MAX if there are none.
 */
uint64_t carry_reassembler_earliest(const struct reassembler *reassembler, uint64_t from);

/* Gives up what is incomplete. To be called at the end, before the counts are read. */
void carry_reassembler_end(struct reassembler *reassembler);

/* How many datagrams, by enum carry_capture_reassembly. */
const uint64_t *carry_reassembler_counts(const struct reassembler *reassembler);

/* Bytes allocated for datagrams at present, at most REASSEMBLER_BYTES_MAX. */
size_t carry_reassembler_bytes(const struct reassembler *reassembler);

/* Is it a sum of the fragment's content, and not one of what is around that, or behind it? */
bool carry_reassembler_is_inside(const struct carry_packet_fragment *fragment,
                                 const struct carry_packet_sum *sum);

/* The fragment in a frame that brought a byte of a datagram; NULL: none did. */
const struct source *carry_datagram_source(const struct datagram *datagram, uint32_t at);

/* Of a fresh sum among all sums of its datagram. */
size_t carry_datagram_index(const struct datagram *datagram, const struct carry_packet_sum *sum);

/* Where `size` bytes of a datagram stand in the file; CARRY_CAPTURE_NOWHERE: not in one piece. */
uint64_t carry_datagram_offset(const struct datagram *datagram, uint32_t at, uint32_t size);

#endif
