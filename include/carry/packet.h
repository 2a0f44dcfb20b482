/* SPDX-License-Identifier: MIT */
/*
 * Finds every checksum of a frame, with its place and the bytes that it covers; judges it, repairs
 * it, or fills it in.
 *
 *     struct carry_frame frame = {.data = bytes, .captured = n, .wire = n, .linktype = 1};
 *     struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
 *     size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
 *     for (size_t i = 0; i < count; i++)
 *         if (sums[i].verdict == CARRY_VERDICT_BAD)
 *             report(carry_packet_protocol_name(sums[i].protocol), sums[i].expected);
 *
 * Contract shared by all functions here:
 *  - no function touches a byte outside [data, data + captured), whatever a header says, and every
 *    call returns;
 *  - lengths come from the IP headers, so padding, trailers and frame check sequences are not
 *    covered;
 *  - sums are listed outer to inner, in the order of their headers in the frame;
 *  - offsets count bytes from the first byte of the frame; `stored` and `expected` are the field
 *    read as a big-endian number: bytes 12 34 in the frame are 0x1234;
 *  - `options` may be NULL (the defaults, the same as a struct of zeros);
 *  - the caller owns frame, bytes and sums, and no pointer to them is kept; with `captured` 0,
 *    `data` may be NULL;
 *  - no function fails, allocates, locks or keeps state: callable wherever carry_sum() is.
 */
#ifndef CARRY_PACKET_H
#define CARRY_PACKET_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

enum carry_protocol {
#define CARRY_PROTOCOL(id, name, keys) CARRY_PROTOCOL_##id,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
    CARRY_PROTOCOL_COUNT
};

enum carry_verdict {
    CARRY_VERDICT_GOOD,         /* it verifies */
    CARRY_VERDICT_BAD,          /* it does not verify */
    CARRY_VERDICT_PARTIAL,      /* transmit offload leaves it for the network card to complete: not
                                   damage. One of these:
                                   - it holds the folded sum of its pseudo-header;
                                   - it is an IPv4 header's, holds 0, and a sum in the same packet
                                     is partial (CARRY_CAUSE_HEADER), or the caller says so
                                     (CARRY_PACKET_IP_ZERO_PARTIAL);
                                   - it verifies once the partial sums that it covers are complete;
                                     `expected` then equals `stored` */
    CARRY_VERDICT_ABSENT,       /* the sender chose to send none, such as UDP 0 over IPv4 and over
                                   IPv6 on a tunnel's port; docs/packet.md lists them all */
    CARRY_VERDICT_ILLEGAL,      /* there is none, though the protocol demands one, such as any other
                                   UDP 0 over IPv6 */
    CARRY_VERDICT_UNVERIFIABLE, /* it cannot be verified: see the reason */
    CARRY_VERDICT_COUNT
};

/* Why a sum is unverifiable. */
enum carry_reason {
    CARRY_REASON_NONE,
    CARRY_REASON_SNAPLEN,   /* covered bytes were not captured */
    CARRY_REASON_FRAGMENT,  /* it covers a datagram of which this frame holds one fragment */
    CARRY_REASON_LENGTH,    /* an IP length goes beyond the wire, or beyond the layer around it */
    CARRY_REASON_MALFORMED, /* a header contradicts itself, or its own IP header */
    CARRY_REASON_QUOTED,    /* in a packet that an ICMP error quotes: routers cut and edit it */
    CARRY_REASON_ROUTING,   /* a routing header of an unknown type hides the final destination */
    CARRY_REASON_COUNT
};

/* Causes of verdicts, as far as the frame shows them. */
enum carry_cause {
    CARRY_CAUSE_NONE,
    CARRY_CAUSE_HEADER,  /* an IPv4 header's sum holds 0, as if left to a network card: PARTIAL if
                            a sum in the same packet is partial, or UNVERIFIABLE (SNAPLEN) if the
                            bytes that would decide this were not captured */
    CARRY_CAUSE_ADLER32, /* a BAD sum of SCTP verifies as Adler-32: SCTP's first checksum (RFC
                            2960), which no receiver has accepted since RFC 3309 */
    CARRY_CAUSE_COUNT
};

struct carry_frame {
    const void *data;
    uint32_t captured; /* bytes at `data` */
    uint32_t wire;     /* bytes that were on the wire; less than `captured` counts as `captured` */
    uint32_t linktype; /* LINKTYPE_ value of the first header, as in capture files: 1 is Ethernet */
    uint32_t scope;    /* 0; for a reassembled datagram, the scope of its fragments */
};

/* One checksum field of a frame. */
struct carry_packet_sum {
    uint8_t protocol;    /* enum carry_protocol */
    uint8_t verdict;     /* enum carry_verdict */
    uint8_t reason;      /* enum carry_reason; NONE unless the verdict is UNVERIFIABLE */
    uint8_t version;     /* version of the IP header at network_offset: 4, 6, or 0 if none */
    uint8_t field_size;  /* bytes of the field: 2 for Internet checksums, 4 for CRC32c */
    uint8_t gap_size;    /* bytes in the covered range that do not count: OSPF's authentication */
    uint16_t gap_offset; /* of the gap, counted from cover_offset */
    uint8_t pseudo_protocol; /* the protocol number in the pseudo-header; 0 if there is none */
    uint8_t quoted;          /* 1 in a packet that an ICMP error quotes, else 0 */
    uint8_t cause;           /* enum carry_cause */
    uint8_t reserved;        /* 0, so that equal sums are equal bytes */
    uint32_t field_offset;   /* of the checksum field itself */
    uint32_t network_offset; /* of the IP header that the sum belongs to; for an IPv4 header's sum,
                                of that header */
    uint32_t cover_offset;   /* of the first byte covered */
    uint32_t cover_size;  /* bytes covered, as the headers say: may go beyond what was captured */
    uint32_t pseudo;      /* partial sum of the pseudo-header (see carry/sum.h); 0: none */
    uint32_t pseudo_size; /* the length in the pseudo-header */
    uint32_t stored;      /* 0 if the field was not captured, or lies beyond its own layer */
    uint32_t expected;    /* what to store to make the sum good: valid if GOOD, BAD or PARTIAL, and
                             with CARRY_CAUSE_HEADER. If ILLEGAL, the same, or 0 if not known */
};

/* One header on the walk. */
struct carry_packet_layer {
    uint32_t protocol; /* enum carry_protocol */
    uint32_t offset;   /* of its first byte */
};

enum carry_packet_flag {
    CARRY_PACKET_NO_TUNNELS = 1 << 0,       /* examine no IP header inside another */
    CARRY_PACKET_UDP6_ZERO_ABSENT = 1 << 1, /* a UDP sum of 0 over IPv6 is ABSENT with any port */
    CARRY_PACKET_IP_ZERO_PARTIAL = 1 << 2,  /* the sender of the frame is known to leave the sums of
                                               IPv4 headers to a network card: 0 is PARTIAL,
                                               whatever else the frame holds */
};

/* New members will replace reserved ones; 0 in a new member keeps the earlier behaviour. */
struct carry_packet_options {
    uint32_t flags; /* enum carry_packet_flag, or-ed */
    uint32_t fix;   /* the verdicts to repair: 1u << verdict, or-ed (0: each function's default) */
    uint32_t reserved[6]; /* 0 */
};

/*
 * How many sums of a frame, and how many layers, are listed at most. Headers that nest deeper are
 * not examined: carry_packet_check_fragment() reports whether a frame has any.
 */
#define CARRY_PACKET_SUMS_MAX 32

/*
 * Finds the checksum fields of a frame and judges each. Writes at most `capacity` sums, the
 * outermost, and returns how many it wrote. Whether a frame shows an IPv4 header's sum of 0 to be
 * partial depends only on the written sums: a smaller `capacity` may make the header's sum bad.
 */
CARRY_API size_t carry_packet_check(const struct carry_frame *frame,
                                    const struct carry_packet_options *options,
                                    struct carry_packet_sum *sums, size_t capacity);

/*
 * Does what carry_packet_check() does, but sums no covered byte: for callers that sum elsewhere or
 * need only the offsets. A verdict that depends on a sum is UNVERIFIABLE, with reason NONE and
 * `expected` 0.
 */
CARRY_API size_t carry_packet_walk(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *sums, size_t capacity);

/*
 * Lists the headers of a frame in the order of the walk, with or without a checksum. Writes at most
 * `capacity` headers, the outermost, and returns how many it wrote.
 */
CARRY_API size_t carry_packet_layers(const struct carry_frame *frame,
                                     const struct carry_packet_options *options,
                                     struct carry_packet_layer *layers, size_t capacity);

/*
 * Repairs a frame's checksums in place: writes the bytes at frame->data, which must be the caller's
 * to write. Only checksum fields change. Sums are computed from the innermost outwards, since outer
 * sums cover inner ones, and sums that cover a written field are judged again.
 *
 * A sum is repaired if its verdict is one to repair (options->fix), or if it was good and covers a
 * repaired sum. A good sum never ends bad. So these never change:
 *  - sums that an unverifiable sum covers, unless an ICMP error quotes the unverifiable sum;
 *  - unless PARTIAL is a verdict to repair, sums covered by one that verifies only once a partial
 *    sum is complete (PARTIAL, `expected` equals `stored`);
 *  - sums in a packet that an ICMP error quotes: the packet is evidence.
 *
 * Returns how many fields changed, and lists at most `capacity` of them in the order of change,
 * each with its earlier verdict: the field held `stored` and now holds `expected`.
 *
 * In a fragment, or in a frame of which less was captured than was on the wire, a sum is repaired
 * only if the captured bytes of this frame include all that it covers, such as the IP header's sum.
 *
 * carry_packet_fix() repairs what was captured: by default BAD, PARTIAL and ILLEGAL sums. It leaves
 * sums that verify as Adler-32 (CARRY_CAUSE_ADLER32) unless options->fix asks for BAD.
 */
CARRY_API size_t carry_packet_fix(const struct carry_frame *frame,
                                  const struct carry_packet_options *options,
                                  struct carry_packet_sum *changes, size_t capacity);

/*
 * Fills in the checksums of a frame about to be sent, as transmit offload does, by the rules of
 * carry_packet_fix(). The fields may hold partial sums, 0 or anything else. By default sums of all
 * verdicts are repaired, ABSENT included.
 */
CARRY_API size_t carry_packet_fill(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *changes, size_t capacity);

/* A fragment: the part of a datagram that a frame holds. */
struct carry_packet_fragment {
    uint32_t network_offset; /* of the IP header */
    uint32_t content_offset; /* of the part's first byte: after the IPv4 header and its options,
                                or after IPv6's fragment header */
    uint32_t size;           /* bytes of the part: may go beyond what was captured */
    uint32_t place;          /* offset of the part's first byte in the content of the datagram */
    uint32_t identification;
    uint32_t scope;   /* a digest of what surrounds the datagram: VLAN tags, labels, the ends and
                         numbers of tunnels, the interface in Linux cooked captures. Equal for all
                         fragments of one datagram */
    uint8_t version;  /* 4 or 6; 0 if there is no fragment */
    uint8_t protocol; /* IP's number of the protocol with which the datagram's content starts */
    bool more;        /* further fragments follow */
    bool deeper;      /* the frame has headers too deep to be examined; valid with any `version` */
};

/*
 * Does what carry_packet_check() does, and describes the frame's outermost fragment, for callers
 * that reassemble datagrams:
 *  - fragment->version is 0 if there is none;
 *  - fragment->deeper says of every frame whether some of its headers were not examined;
 *  - a fragment that an ICMP error quotes, or that goes beyond the wire, is not described;
 *  - an atomic fragment (RFC 6946) is a whole datagram, not a fragment.
 *
 * With `capacity` 0 the function only looks for a fragment, and sums nothing.
 */
CARRY_API size_t carry_packet_check_fragment(const struct carry_frame *frame,
                                             const struct carry_packet_options *options,
                                             struct carry_packet_sum *sums, size_t capacity,
                                             struct carry_packet_fragment *fragment);

/* Returns whether the walk knows this link type. */
CARRY_API bool carry_packet_knows_link(uint32_t linktype);

/* Return names to display: "tcp", "good", "snaplen". */
CARRY_API const char *carry_packet_protocol_name(unsigned protocol);
CARRY_API const char *carry_packet_verdict_name(unsigned verdict);
CARRY_API const char *carry_packet_reason_name(unsigned reason);
CARRY_API const char *carry_packet_cause_name(unsigned cause);

CARRY_END_DECLS

#endif
