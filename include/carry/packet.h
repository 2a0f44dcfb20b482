/* SPDX-License-Identifier: MIT */
/*
 * Every checksum of a frame: where it is, what it covers, whether it is right; and how to make it
 * so.
 *
 *     struct carry_frame frame = {.data = bytes, .captured = n, .wire = n, .linktype = 1};
 *     struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
 *     size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
 *     for (size_t i = 0; i < count; i++)
 *         if (sums[i].verdict == CARRY_VERDICT_BAD)
 *             report(carry_packet_protocol_name(sums[i].protocol), sums[i].expected);
 *
 * Contract shared by all functions here:
 *  - no byte outside [data, data + captured) is touched, whatever a header says, and each call
 *    comes to an end;
 *  - lengths come from the IP headers, so padding, trailers and frame check sequences lie outside;
 *  - sums are listed outer to inner, in the order in which their headers stand in the frame;
 *  - offsets count bytes from the frame's first; `stored` and `expected` are numbers as people
 *    write them: bytes 12 34 in the frame are 0x1234;
 *  - `options` may be NULL, which asks for the defaults, as a struct of zeros does;
 *  - frame, bytes and sums are the caller's, and no pointer to them is kept; with `captured` 0,
 *    `data` may be NULL;
 *  - nothing fails, allocates, locks or keeps state: callable where carry_sum() is.
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
    CARRY_VERDICT_BAD,          /* it does not */
    CARRY_VERDICT_PARTIAL,      /* transmit offload leaves it for the network card to complete: not
                                   damage. It holds the folded sum of its pseudo-header; or it is
                                   an IPv4 header's, holds 0, and a sum in the same packet is
                                   partial (CARRY_CAUSE_HEADER); or it verifies once the partial
                                   sums that it covers are complete: then `expected` is `stored` */
    CARRY_VERDICT_ABSENT,       /* the sender chose to send none: UDP 0 over IPv4, and over IPv6
                                   on a tunnel's port; OSPF with cryptographic authentication */
    CARRY_VERDICT_ILLEGAL,      /* none, where the protocol demands one: other UDP 0 over IPv6 */
    CARRY_VERDICT_UNVERIFIABLE, /* cannot be told: see the reason */
    CARRY_VERDICT_COUNT
};

/* Why a sum is unverifiable. */
enum carry_reason {
    CARRY_REASON_NONE,
    CARRY_REASON_SNAPLEN,   /* the capture cut covered bytes off */
    CARRY_REASON_FRAGMENT,  /* it covers a datagram of which this frame holds one fragment */
    CARRY_REASON_LENGTH,    /* an IP length goes beyond the wire, or beyond what is around it */
    CARRY_REASON_MALFORMED, /* a header contradicts itself, or its own IP header */
    CARRY_REASON_QUOTED,    /* in a packet that an ICMP error quotes, which routers cut and edit */
    CARRY_REASON_ROUTING,   /* a routing header of an unknown type hides the final destination */
    CARRY_REASON_COUNT
};

/* What else is known of a verdict. */
enum carry_cause {
    CARRY_CAUSE_NONE,
    CARRY_CAUSE_HEADER,  /* an IPv4 header's sum holds 0, as where a network card is to fill it in:
                            PARTIAL, because a sum in the same packet is partial, or UNVERIFIABLE,
                            because the capture cut off what would tell (SNAPLEN) */
    CARRY_CAUSE_ADLER32, /* a BAD sum of SCTP verifies as Adler-32, which SCTP had first (RFC 2960)
                            and no receiver accepts since RFC 3309 */
    CARRY_CAUSE_COUNT
};

struct carry_frame {
    const void *data;
    uint32_t captured; /* bytes at `data` */
    uint32_t wire;     /* bytes that were on the wire; below `captured` it counts as `captured` */
    uint32_t linktype; /* LINKTYPE_ value of the first header, as in capture files: 1 is Ethernet */
    uint32_t scope;    /* 0; of a datagram put together, that of its fragments */
};

/* One checksum field of a frame. */
struct carry_packet_sum {
    uint8_t protocol;    /* enum carry_protocol */
    uint8_t verdict;     /* enum carry_verdict */
    uint8_t reason;      /* enum carry_reason; NONE unless the verdict is UNVERIFIABLE */
    uint8_t version;     /* IP version of the layer it belongs to: 4, 6, or 0 if there is none */
    uint8_t field_size;  /* bytes of the field: 2 for Internet checksums, 4 for CRC32c */
    uint8_t gap_size;    /* bytes within the covered ones that are not: OSPF's authentication */
    uint16_t gap_offset; /* of those, from cover_offset on */
    uint8_t pseudo_protocol; /* the protocol number in the pseudo-header; 0 if there is none */
    uint8_t quoted;          /* 1 in a packet that an ICMP error quotes, else 0 */
    uint8_t cause;           /* enum carry_cause */
    uint8_t reserved;        /* 0, so that equal sums are equal bytes */
    uint32_t field_offset;   /* of the checksum field itself */
    uint32_t network_offset; /* of the IP header that the sum belongs to; its own, for IPv4's sum */
    uint32_t cover_offset;   /* of the first byte covered */
    uint32_t cover_size;  /* bytes covered, as the headers say: may go beyond what was captured */
    uint32_t pseudo;      /* partial sum of the pseudo-header (see carry/sum.h); 0: it has none */
    uint32_t pseudo_size; /* the length in the pseudo-header */
    uint32_t stored;      /* 0 if the field was not captured, or lies beyond its own layer */
    uint32_t expected; /* valid if GOOD, BAD or PARTIAL, and with CARRY_CAUSE_HEADER: what to store
                          to make it good. If ILLEGAL, the same, or 0 where it cannot be told */
};

/* One header that the walk went over. */
struct carry_packet_layer {
    uint32_t protocol; /* enum carry_protocol */
    uint32_t offset;   /* of its first byte */
};

enum carry_packet_flag {
    CARRY_PACKET_NO_TUNNELS = 1 << 0,       /* look into no IP header inside another */
    CARRY_PACKET_UDP6_ZERO_ABSENT = 1 << 1, /* UDP 0 over IPv6 is the sender's choice too */
    CARRY_PACKET_IP_ZERO_PARTIAL = 1 << 2,  /* the sender of the frame is known to leave the sums of
                                               IPv4 headers to a network card: 0 is PARTIAL,
                                               whatever else the frame holds */
};

/* Later members take the place of reserved ones, and 0 in them means what it meant before. */
struct carry_packet_options {
    uint32_t flags; /* enum carry_packet_flag, or-ed */
    uint32_t fix;   /* the verdicts to put right, as 1u << verdict, or-ed; 0: each function's own */
    uint32_t reserved[6]; /* 0 */
};

/*
 * No frame yields more, nor more layers. What nests deeper is not looked at:
 * carry_packet_check_fragment() says of a frame that it does.
 */
#define CARRY_PACKET_SUMS_MAX 32

/*
 * Finds the checksum fields of a frame and judges each. Writes at most `capacity`, the outermost,
 * and returns how many it wrote. Only those that it writes tell whether an IPv4 header's sum of 0
 * is partial; otherwise it is bad.
 */
CARRY_API size_t carry_packet_check(const struct carry_frame *frame,
                                    const struct carry_packet_options *options,
                                    struct carry_packet_sum *sums, size_t capacity);

/*
 * The same without summing any covered byte, for those who sum elsewhere or only look for places.
 * What only a sum could tell is UNVERIFIABLE, by reason of NONE, and its `expected` is 0.
 */
CARRY_API size_t carry_packet_walk(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *sums, size_t capacity);

/*
 * Lists the headers of a frame as the walk goes over them, with or without a checksum. Writes at
 * most `capacity`, the outermost, and returns how many it wrote.
 */
CARRY_API size_t carry_packet_layers(const struct carry_frame *frame,
                                     const struct carry_packet_options *options,
                                     struct carry_packet_layer *layers, size_t capacity);

/*
 * Puts a frame's checksums right where they stand: the bytes at frame->data are written, and must
 * be the caller's to write. Fields alone change. Sums are taken from the innermost outwards, since
 * outer ones cover inner ones, and those judged again that cover what was written.
 *
 * A sum is put right if its verdict is in options->fix, or if it was good and covers one that was
 * put right. A good sum never ends bad, so what cannot be told bars what it covers: nothing under
 * an unverifiable sum changes; nor, unless PARTIAL is in options->fix, under one that is right for
 * when a partial one is complete. Nor does a packet that an ICMP error quotes: it is evidence.
 *
 * Returns how many fields changed, and lists at most `capacity` of them in the order of change,
 * each with the verdict it had: its bytes held `stored` and now hold `expected`.
 *
 * In fragments, and in frames of which less was captured than was on the wire, those sums are put
 * right of which all covered bytes are there, such as the IP header's.
 *
 * carry_packet_fix() repairs what was captured: BAD, PARTIAL and ILLEGAL by default. It leaves sums
 * that verify as Adler-32 (CARRY_CAUSE_ADLER32) unless options->fix asks for BAD.
 */
CARRY_API size_t carry_packet_fix(const struct carry_frame *frame,
                                  const struct carry_packet_options *options,
                                  struct carry_packet_sum *changes, size_t capacity);

/*
 * carry_packet_fill() does what transmit offload does for a frame about to be sent, whether its
 * fields hold partial sums, 0 or anything: all verdicts by default, ABSENT among them.
 */
CARRY_API size_t carry_packet_fill(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *changes, size_t capacity);

/* A frame's part of a datagram that IP cut into fragments. */
struct carry_packet_fragment {
    uint32_t network_offset; /* of the IP header */
    uint32_t content_offset; /* of the first byte of the part: behind the IPv4 header and its
                                options, or IPv6's fragment header */
    uint32_t size;           /* bytes of the part: may go beyond what was captured */
    uint32_t place;          /* of its first byte in the content of the datagram */
    uint32_t identification;
    uint32_t scope;   /* a digest of what is around it: VLAN tags, labels, the ends and numbers of
                         tunnels, the interface in Linux cooked captures. Parts of one datagram
                         have it in common */
    uint8_t version;  /* 4 or 6; 0 if there is none */
    uint8_t protocol; /* what the content starts with, by the number of IP */
    bool more;        /* others follow it */
    bool deeper;      /* the frame nests deeper than is looked at; valid if `version` is 0, too */
};

/*
 * carry_packet_check() that also describes the outermost datagram of which the frame holds a
 * fragment, to those who reassemble datagrams: fragment->version is 0 if there is none. Of every
 * frame it says in fragment->deeper whether some of its headers were not looked at.
 * None is looked for in what ICMP errors quote, and one that goes beyond the wire is no use. Atomic
 * fragments (RFC 6946) are whole. With `capacity` 0 it looks for a fragment, and sums nothing.
 */
CARRY_API size_t carry_packet_check_fragment(const struct carry_frame *frame,
                                             const struct carry_packet_options *options,
                                             struct carry_packet_sum *sums, size_t capacity,
                                             struct carry_packet_fragment *fragment);

/* True if the walk knows this link type. */
CARRY_API bool carry_packet_knows_link(uint32_t linktype);

/* "tcp", "good", "snaplen". */
CARRY_API const char *carry_packet_protocol_name(unsigned protocol);
CARRY_API const char *carry_packet_verdict_name(unsigned verdict);
CARRY_API const char *carry_packet_reason_name(unsigned reason);
CARRY_API const char *carry_packet_cause_name(unsigned cause);

CARRY_END_DECLS

#endif
