/* SPDX-License-Identifier: MIT */
/*
 * The state of a walk over one frame, and the functions that its protocols share.
 *
 * Each protocol of protocols.def has a function. The function looks at the header at `offset`,
 * passes its checksum to carry_walk_sum(), moves `offset` past the header, narrows `bound` if the
 * header gives the length of its content, and returns the next protocol. It lists at most one sum.
 * packet.c calls one function after the other; the comment at its top gives the order.
 *
 * Invariant between calls: offset <= bound <= wire, offset <= captured, offset <= end.
 */
#ifndef CARRY_PACKET_WALK_H
#define CARRY_PACKET_WALK_H

#include <carry/crc.h>
#include <carry/packet.h>
#include <carry/sum.h>

/*
 * packet.c includes the most frequent protocols as headers. The compiler inlines their functions
 * into the walk and keeps its state in registers. Other files call the same functions.
 *
 * A walk stays in registers as long as its address is not taken. So an inlined function passes it
 * by value to a function that is not inlined.
 */
#define CARRY_ALWAYS_INLINE inline __attribute__((__always_inline__))

/*
 * Marks functions that hardly any packet needs: they are never inlined. (The name __noinline__ is
 * used because Linux defines a macro `noinline`.)
 */
#define CARRY_COLD __attribute__((__noinline__))

#define CARRY_LIKELY(condition) __builtin_expect(!!(condition), 1)

struct carry_walk;

/* A place at which the walk continues after the present packet, and the state of the walk there. */
struct carry_walk_resume_point {
    uint32_t (*walk)(struct carry_walk *walk);
    uint64_t end; /* this and the members below: as in struct carry_walk */
    uint32_t offset;
    uint32_t bound;
    uint32_t network;
    uint32_t scope;
    uint8_t version;
    uint8_t why_unverifiable;
    uint8_t beyond;
    bool quoted;
};

/* The maximum number of resume points; any beyond it are dropped. */
#define CARRY_WALK_RESUME_POINTS_MAX 4

/* Members of a walk that few frames need. They are always in memory. */
struct carry_walk_cold {
    uint8_t final_dst[16]; /* for `dst`, where the frame holds it in parts (RFC 6554) */
    bool resume_dropped;   /* a resume point found no free slot */
    uint32_t resume_count;
    struct carry_walk_resume_point
        resume_points[CARRY_WALK_RESUME_POINTS_MAX]; /* the innermost last */
};

struct carry_walk {
    const uint8_t *data;
    uint32_t captured;
    uint32_t offset; /* of the present header */
    uint64_t end;    /* end of this layer as its header states it; may be beyond `bound` */
    uint32_t bound;  /* end of the bytes of this layer that were on the wire */

    /* The innermost IP header so far. */
    uint32_t network;         /* its offset */
    uint32_t scope;           /* see carry_walk_narrow_scope() */
    uint8_t version;          /* 4 or 6; 0 before the first IP header */
    uint8_t why_unverifiable; /* enum carry_reason, for sums over its content */
    uint8_t beyond;           /* enum carry_reason, for sums that go beyond `bound` */
    bool quoted;              /* in a packet that an ICMP error quotes */
    bool fragmented;          /* in a fragment, first or later */
    uint8_t effort;           /* enum carry_effort */
    uint8_t pseudo_protocol;  /* of the pseudo-header that was summed last */
    uint32_t pseudo_size;
    uint32_t flags;     /* enum carry_packet_flag */
    const uint8_t *src; /* the addresses for pseudo-headers */
    const uint8_t *dst;

    const struct carry_packet_sum *unsettled; /* a sum for carry_offload_settle(), or NULL */
    size_t count;                             /* of listed sums */
    size_t capacity;
    struct carry_packet_sum *sums;

    struct carry_packet_layer *layers; /* NULL: not wanted */
    size_t layers_count;
    size_t layers_capacity;
    struct carry_packet_fragment *fragment; /* NULL: not wanted */

    uint32_t steps;               /* taken so far */
    uint32_t wire;                /* size of the frame on the wire, at least `captured` */
    struct carry_walk_cold *cold; /* NULL in inlined steps */
};

/* The values to compute for each sum. */
enum carry_effort {
    CARRY_EFFORT_FIND,  /* nothing */
    CARRY_EFFORT_JUDGE, /* the verdict */
    CARRY_EFFORT_FILL,  /* also `expected` of absent sums: 0 if it cannot be computed */
};

/* Prepares a walk that lists sums. To get layers or a fragment, set the members for them
 * afterwards. */
static inline void carry_walk_prepare(struct carry_walk *walk,
                                      const struct carry_packet_options *options,
                                      enum carry_effort effort, struct carry_packet_sum *sums,
                                      size_t capacity) {
    walk->effort = (uint8_t)effort;
    walk->flags = options ? options->flags : 0;
    walk->sums = sums;
    walk->capacity = capacity;
    walk->layers = NULL;
    walk->fragment = NULL;
    walk->cold = NULL;
}

/* Walks over a frame, fills the prepared arrays, and sets walk->count. */
void carry_walk_frame(struct carry_walk *walk, const struct carry_frame *frame);

/*
 * Returns the protocol that `number` announces in one of the spaces LINK, ETHERTYPE, IP, UDP and
 * ICMP, or CARRY_NEXT_NONE if the walk does not know it. A new space needs a function here and a
 * switch in packet.c.
 */
#define CARRY_NEXT(space, number) CARRY_NEXT_##space(number)
#define CARRY_NEXT_LINK           carry_walk_on_link
#define CARRY_NEXT_ETHERTYPE      carry_walk_on_ethertype
#define CARRY_NEXT_IP             carry_walk_on_ip
#define CARRY_NEXT_UDP            carry_walk_on_udp
#define CARRY_NEXT_ICMP           carry_walk_on_icmp
#define CARRY_NEXT_NONE           ((uint32_t)CARRY_PROTOCOL_COUNT)

uint32_t carry_walk_on_link(uint32_t linktype);
uint32_t carry_walk_on_ethertype(uint32_t type);
uint32_t carry_walk_on_ip(uint32_t protocol);
uint32_t carry_walk_on_udp(uint32_t port);
uint32_t carry_walk_on_icmp(uint32_t type);

#define CARRY_PROTOCOL(id, name, keys) uint32_t carry_packet_walk_##name(struct carry_walk *walk);
#include <carry/protocols.def>
#undef CARRY_PROTOCOL

/* Means, as the argument `zero`, that a stored 0 is a checksum like any other. */
#define CARRY_ZERO_IS_PLAIN CARRY_VERDICT_BAD

/*
 * Lists and judges the checksum that is `field` bytes into the header at `offset`. It covers `size`
 * bytes from the start of the header, and the pseudo-header whose partial sum is `pseudo` (0:
 * none). `zero` is the verdict on a stored 0: CARRY_VERDICT_ABSENT, CARRY_VERDICT_ILLEGAL or
 * CARRY_ZERO_IS_PLAIN.
 */
void carry_walk_sum(struct carry_walk *walk, enum carry_protocol protocol, uint32_t field,
                    uint32_t size, uint32_t pseudo, enum carry_verdict zero);

/*
 * Lists and judges any field; a field of 4 bytes is a CRC32c. In `field`, the members protocol,
 * field_size, cover_size, pseudo, gap_offset and gap_size are set, and field_offset counts from the
 * start of the header. The verdict is CARRY_VERDICT_UNVERIFIABLE, or CARRY_VERDICT_ABSENT if the
 * header says that the field is unused.
 */
void carry_walk_list(struct carry_walk *walk, const struct carry_packet_sum *field,
                     enum carry_verdict zero);

/* The bytes that a checksum may cover. */
struct carry_cover {
    uint32_t size;
    uint32_t pseudo;
};

/*
 * Lists and judges a checksum that senders compute over different bytes. The checksum is good if
 * it verifies with `cover` or with `other`. If not, it is unverifiable if one of the two cannot be
 * verified; otherwise `expected` is computed over `cover`.
 */
void carry_walk_sum_either(struct carry_walk *walk, enum carry_protocol protocol, uint32_t field,
                           struct carry_cover cover, struct carry_cover other);

/* Returns the partial sum of the pseudo-header of the innermost IP header, for `size` bytes. */
uint32_t carry_walk_pseudo(struct carry_walk *walk, uint8_t protocol, uint32_t size);

/*
 * Returns the next protocol after a header that announces a fragment. The bytes at `offset` are
 * `place` bytes into the datagram's content. Describes the fragment if the caller asked for it.
 */
uint32_t carry_walk_fragment(struct carry_walk *walk, uint8_t protocol, uint32_t identification,
                             uint32_t place, bool more);

/* Checks whether the sum `outer` covers the field of `inner`. */
static inline bool carry_walk_covers(const struct carry_packet_sum *outer,
                                     const struct carry_packet_sum *inner) {
    return inner->field_offset >= outer->cover_offset &&
           inner->field_offset - outer->cover_offset < outer->cover_size;
}

static inline uint32_t carry_load16(const uint8_t *p) {
    return (uint32_t)p[0] << 8 | p[1];
}

/* Loads two bytes in memory order, as in partial sums. */
static inline uint16_t carry_load_raw16(const uint8_t *p) {
    uint16_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

static inline uint32_t carry_load32(const uint8_t *p) {
    return carry_load16(p) << 16 | carry_load16(p + 2);
}

static inline uint32_t carry_load_le16(const uint8_t *p) {
    return (uint32_t)p[1] << 8 | p[0];
}

static inline uint32_t carry_load_le32(const uint8_t *p) {
    return carry_load_le16(p + 2) << 16 | carry_load_le16(p);
}

/* Loads an address family of 4 bytes. Families are small numbers, which shows the byte order. */
static inline uint32_t carry_load_family(const uint8_t *p) {
    uint32_t family = carry_load32(p);
    return family > 0xffff ? carry_load_le32(p) : family;
}

/* Returns the end of this layer's captured bytes. */
static CARRY_ALWAYS_INLINE uint32_t carry_walk_readable(const struct carry_walk *walk) {
    return walk->bound < walk->captured ? walk->bound : walk->captured;
}

/* Returns the header at `offset` if `size` bytes of it are readable, otherwise NULL. */
static CARRY_ALWAYS_INLINE const uint8_t *carry_walk_header(const struct carry_walk *walk,
                                                            uint32_t size) {
    return size <= carry_walk_readable(walk) - walk->offset ? walk->data + walk->offset : NULL;
}

/* Returns the header like carry_walk_header(), and moves `offset` past it unless it is NULL. */
static CARRY_ALWAYS_INLINE const uint8_t *carry_walk_take(struct carry_walk *walk, uint32_t size) {
    const uint8_t *header = carry_walk_header(walk, size);
    if (header)
        walk->offset += size;
    return header;
}

/* Returns IPv6's extension header at `offset` (RFC 8200, section 4.2) and its size, or NULL. */
static inline const uint8_t *carry_walk_extension(const struct carry_walk *walk, uint32_t *size) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || walk->version != 6)
        return NULL;
    *size = 8 + header[1] * 8u;
    return carry_walk_header(walk, *size);
}

/* Returns the number of bytes from `offset` to the end of this layer, as its header states it. */
static CARRY_ALWAYS_INLINE uint32_t carry_walk_size(const struct carry_walk *walk) {
    return (uint32_t)(walk->end - walk->offset);
}

/* Sets the end of this layer. */
static CARRY_ALWAYS_INLINE void carry_walk_set_end(struct carry_walk *walk, uint64_t end) {
    walk->end = end;
    if (end < walk->bound)
        walk->bound = (uint32_t)end;
}

/* Sets the end of this layer to `size` bytes after `offset`. */
static inline void carry_walk_limit(struct carry_walk *walk, uint32_t size) {
    carry_walk_set_end(walk, walk->offset + (uint64_t)size);
}

/*
 * Makes the walk call `resume` at `offset`, in the present layer, when the packet that comes next
 * has ended. Called for headers with more data after the packet that they hold.
 */
static inline void carry_walk_return_to(struct carry_walk *walk, uint64_t offset,
                                        uint32_t (*resume)(struct carry_walk *walk)) {
    struct carry_walk_cold *cold = walk->cold;
    if (offset >= walk->bound)
        return;
    if (cold->resume_count == CARRY_WALK_RESUME_POINTS_MAX) {
        cold->resume_dropped = true;
        return;
    }
    struct carry_walk_resume_point *rest = &cold->resume_points[cold->resume_count];
    rest->walk = resume;
    rest->end = walk->end;
    rest->offset = (uint32_t)offset;
    rest->bound = walk->bound;
    rest->network = walk->network;
    rest->scope = walk->scope;
    rest->version = walk->version;
    rest->why_unverifiable = walk->why_unverifiable;
    rest->beyond = walk->beyond;
    rest->quoted = walk->quoted;
    cold->resume_count++;
}

/* Returns the next protocol, given as an address family of the capturing system. */
static inline uint32_t carry_walk_family(uint32_t family) {
    switch (family) {
    case 2:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 10: /* AF_INET6 of Linux, */
    case 24: /* NetBSD and OpenBSD, */
    case 28: /* FreeBSD, */
    case 30: /* Darwin */
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}

/*
 * Returns the protocol that a type field of Ethernet announces. A type up to 1,500 is the length of
 * an 802.2 LLC frame. For such a frame the function returns the protocol of Linux's ethertype for
 * it (ETH_P_802_2), which cooked captures use.
 */
static CARRY_ALWAYS_INLINE uint32_t carry_walk_ethertype(struct carry_walk *walk, uint32_t type) {
    if (CARRY_LIKELY(type == 0x0800))
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    if (CARRY_LIKELY(type == 0x86dd))
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    if (CARRY_LIKELY(type == 0x8100))
        return CARRY_NEXT(ETHERTYPE, 0x8100);
    if (type > 1500)
        return CARRY_NEXT(ETHERTYPE, type);
    if (walk->offset + (uint64_t)type < walk->bound)
        carry_walk_set_end(walk, walk->offset + type);
    return CARRY_NEXT(ETHERTYPE, 0x0004);
}

/* Returns IPv4 or IPv6 by the first four bits at `offset`, for headers that announce any IP. */
static inline uint32_t carry_walk_ip_version(const struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 1);
    switch (header ? header[0] >> 4 : 0) {
    case 4:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 6:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}

/*
 * Returns IPv4 or IPv6 if the length in the header equals the rest of this layer. Called where
 * nothing else distinguishes IP from other bytes.
 */
static inline uint32_t carry_walk_exact_ip(const struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 20);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = header[0] >> 4 == 4 ? carry_load16(header + 2) : carry_load16(header + 4) + 40;
    return size == carry_walk_size(walk) ? carry_walk_ip_version(walk) : CARRY_NEXT_NONE;
}

/*
 * Returns Ethernet if IP, or IP after a VLAN tag, fills the frame, except for the padding of the
 * shortest frames.
 */
static inline uint32_t carry_walk_exact_ethernet(struct carry_walk *walk) {
    const uint8_t *frame = carry_walk_header(walk, 14 + 4 + 6); /* includes IP's length */
    uint32_t head = frame && carry_load16(frame + 12) == 0x8100 ? 14 + 4 : 14, size = 0;
    if (!frame)
        return CARRY_NEXT_NONE;
    uint32_t type = carry_load16(frame + head - 2), version = frame[head] >> 4;
    if (type == 0x0800 && version == 4)
        size = head + carry_load16(frame + head + 2);
    else if (type == 0x86dd && version == 6)
        size = head + 40 + carry_load16(frame + head + 4);
    uint32_t room = carry_walk_size(walk);
    bool fills = size == room || (size && size < room && room <= 60);
    return fills ? CARRY_NEXT(ETHERTYPE, 0x6558) : CARRY_NEXT_NONE;
}

/* Returns the protocol after a header of `size` bytes that ends with a type field of Ethernet. */
static CARRY_ALWAYS_INLINE uint32_t carry_walk_typed(struct carry_walk *walk, uint32_t size) {
    const uint8_t *header = carry_walk_take(walk, size);
    return header ? carry_walk_ethertype(walk, carry_load16(header + size - 2)) : CARRY_NEXT_NONE;
}

/* Mixes the number of a VLAN or tunnel into the scope: addresses of two networks may be equal. */
static CARRY_ALWAYS_INLINE void carry_walk_narrow_scope(struct carry_walk *walk, uint32_t number) {
    walk->scope = (walk->scope ^ number) * 0x9e3779b1 + 1;
}

/*
 * Enters a tunnel: the innermost IP header so far holds another IP header. Mixes the addresses of
 * the tunnel's ends into the scope. Returns false if the caller wants no tunnels.
 */
bool carry_walk_enter_tunnel(struct carry_walk *walk);

/* Enters a tunnel if there is an IP header already. Returns whether the next header is wanted. */
static CARRY_ALWAYS_INLINE bool carry_walk_enter_ip(struct carry_walk *walk) {
    return !walk->version || carry_walk_enter_tunnel(walk);
}

/* Starts an IP header at `offset`, whose datagram ends at `end`. */
static CARRY_ALWAYS_INLINE void carry_walk_start_datagram(struct carry_walk *walk, uint8_t version,
                                                          const uint8_t *src, const uint8_t *dst,
                                                          uint64_t end) {
    walk->network = walk->offset;
    walk->version = version;
    walk->src = src;
    walk->dst = dst;
    walk->why_unverifiable = CARRY_REASON_NONE;
    carry_walk_set_end(walk, end);
}

/* Makes sums over this datagram's content unverifiable. `MALFORMED` replaces an earlier reason. */
static CARRY_ALWAYS_INLINE void carry_walk_mark_unverifiable(struct carry_walk *walk,
                                                             enum carry_reason reason) {
    if (walk->why_unverifiable == CARRY_REASON_NONE || reason == CARRY_REASON_MALFORMED)
        walk->why_unverifiable = (uint8_t)reason;
}

/*
 * Marks an IP length of 0 as malformed, for protocols that no card segments. Segmentation offload
 * leaves a length of 0 for TCP and UDP, and so do senders of jumbograms (RFC 2675). In other
 * packets a length of 0 says that there is no content.
 */
static inline void carry_walk_require_length(struct carry_walk *walk) {
    bool is_jumbogram = walk->version == 6 && walk->end - walk->network - 40 > UINT16_MAX;
    uint32_t length = carry_load16(walk->data + walk->network + (walk->version == 6 ? 4 : 2));
    if (length == 0 && !is_jumbogram)
        carry_walk_mark_unverifiable(walk, CARRY_REASON_MALFORMED);
}

#endif
