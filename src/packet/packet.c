/* SPDX-License-Identifier: MIT */
/*
 * The walk from header to header, and the verdict on each checksum on the way.
 *
 * The reading order follows one packet of TCP over IPv4 in Ethernet. (The compiler needs the
 * sections below in another order.)
 *
 *  1. check() prepares the walk (start_walk()) and takes the steps of the most frequent packets.
 *  2. step_over_ethernet() calls carry_packet_walk_ethernet() in ethernet.h. Its helper in walk.h,
 *     carry_walk_typed(), takes the header, finds the next protocol with carry_walk_on_ethertype(),
 *     and returns it. step_over_tag() does the same for a VLAN tag (vlan.h).
 *  3. step_over_network() calls carry_packet_walk_ip() in ip.h, which enters the datagram
 *     (carry_walk_start_datagram() in walk.h) and lists the header's checksum with
 *     carry_walk_sum(). carry_walk_on_ip() returns the protocol that the header names.
 *  4. step_over_transport() calls carry_packet_walk_tcp() in tcp.h, which sums the pseudo-header
 *     (carry_walk_pseudo()) and lists TCP's checksum. It returns CARRY_NEXT_NONE: the walk ends.
 *  5. carry_walk_sum() describes each checksum (describe_sum()), and judge_field() judges it:
 *     is_verifiable(), read_field(), verify_sum(), and explain_mismatch() if it does not match.
 *  6. For any other packet, finish_walk() takes these steps again, with the walk in memory.
 *     run_walk() takes the others through the table `steps`, and calls carry_offload_settle() in
 *     offload.c if a checksum may be partial.
 */
#include "packet/adler32.h"
#include "packet/offload.h"
#include "packet/walk.h"
#include "sum/pseudo.h"

/* --- Judgement --- */

/*
 * Inlines the functions that nearly every sum goes through, so that the size of the field, the
 * absence of a gap and most offsets are constants.
 */
#define ALWAYS_INLINE static CARRY_ALWAYS_INLINE

CARRY_ALWAYS_INLINE uint32_t carry_walk_pseudo(struct carry_walk *walk, uint8_t protocol,
                                               uint32_t size) {
    walk->pseudo_protocol = protocol;
    walk->pseudo_size = size;
    uint32_t sum = walk->version == 6
                       ? carry_sum_pseudo6_inline(walk->src, walk->dst, protocol, size, 0)
                       : carry_sum_pseudo4_inline(walk->src, walk->dst, protocol, size, 0);
    if (sum == 0)
        __builtin_unreachable(); /* the protocol is not 0 */
    return sum;
}

/* Returns where the field ends, as an offset from cover_offset. */
ALWAYS_INLINE uint32_t field_end(const struct carry_packet_sum *sum) {
    return sum->field_offset - sum->cover_offset + sum->field_size;
}

/* Checks whether field and gap lie within the covered bytes. */
ALWAYS_INLINE bool is_consistent(const struct carry_packet_sum *sum) {
    return field_end(sum) <= sum->cover_size &&
           (uint32_t)sum->gap_offset + sum->gap_size <= sum->cover_size;
}

/* The members of a walk that decide whether a sum can be verified. */
struct limits {
    uint64_t end;
    uint32_t bound;
    uint32_t readable; /* end of the layer's captured bytes */
    uint8_t why_unverifiable;
    uint8_t beyond;
};

ALWAYS_INLINE struct limits read_limits(const struct carry_walk *walk) {
    return (struct limits){
        .end = walk->end,
        .bound = walk->bound,
        .readable = carry_walk_readable(walk),
        .why_unverifiable = walk->why_unverifiable,
        .beyond = walk->beyond,
    };
}

/*
 * Checks whether unverifiable_reason() would return CARRY_REASON_NONE. Only readable bytes need a
 * comparison: they lie within `bound`, and so within `end`.
 */
ALWAYS_INLINE bool is_verifiable(const struct carry_walk *walk,
                                 const struct carry_packet_sum *sum) {
    return walk->why_unverifiable == CARRY_REASON_NONE &&
           sum->cover_size <= carry_walk_readable(walk) - sum->cover_offset && is_consistent(sum);
}

/* Returns the most severe reason why the sum cannot be verified. */
static enum carry_reason unverifiable_reason(struct limits limits,
                                             const struct carry_packet_sum *sum) {
    uint64_t end = (uint64_t)sum->cover_offset + sum->cover_size;
    bool contradiction = !is_consistent(sum) || end > limits.end;
    /* In a fragment, lengths refer to the whole datagram. */
    if (contradiction && limits.why_unverifiable != CARRY_REASON_FRAGMENT)
        return CARRY_REASON_MALFORMED;
    if (limits.why_unverifiable != CARRY_REASON_NONE)
        return limits.why_unverifiable;
    if (end > limits.bound)
        return limits.beyond;
    if (end > limits.readable)
        return CARRY_REASON_SNAPLEN;
    return CARRY_REASON_NONE;
}

/* Returns the sum of the pseudo-header minus the sum of the gap. */
static uint32_t pseudo_less_gap(const uint8_t *data, const struct carry_packet_sum *sum) {
    const uint8_t *gap = data + sum->cover_offset + sum->gap_offset;
    uint16_t less = (uint16_t)~carry_sum_fold(carry_sum(gap, sum->gap_size, 0));
    return carry_sum_combine(sum->pseudo, less, 0);
}

/* Returns the sum to start from if all covered bytes are added, including the bytes of the gap. */
ALWAYS_INLINE uint32_t seed_of_sum(const uint8_t *data, const struct carry_packet_sum *sum) {
    return sum->gap_size ? pseudo_less_gap(data, sum) : sum->pseudo;
}

/* Returns the partial sum of the covered bytes, without the field. */
static uint32_t sum_without_field(const uint8_t *data, const struct carry_packet_sum *sum,
                                  uint32_t seed) {
    uint32_t before = sum->field_offset - sum->cover_offset;
    uint32_t after = before + sum->field_size;
    const uint8_t *cover = data + sum->cover_offset;
    return carry_sum(cover + after, sum->cover_size - after, carry_sum(cover, before, seed));
}

/* Returns the CRC32c of the covered bytes, as stored (lowest byte first). The field counts as 0. */
static uint32_t compute_crc32c(const uint8_t *data, const struct carry_packet_sum *sum) {
    static const uint8_t zeros[4];
    uint32_t before = sum->field_offset - sum->cover_offset;
    uint32_t after = before + sum->field_size;
    const uint8_t *cover = data + sum->cover_offset;
    uint32_t crc = carry_crc32c(zeros, sizeof zeros, carry_crc32c(cover, before, 0));
    return __builtin_bswap32(carry_crc32c(cover + after, sum->cover_size - after, crc));
}

/* Converts a checksum in memory order to a number. */
static uint32_t checksum_number(uint16_t check) {
    return carry_load16((const uint8_t *)&check);
}

/* Returns the right value of the field. All covered bytes must be captured. */
static uint32_t compute_checksum(const uint8_t *data, const struct carry_packet_sum *sum,
                                 enum carry_verdict zero) {
    if (sum->field_size == 4)
        return compute_crc32c(data, sum);
    uint32_t rest = sum_without_field(data, sum, seed_of_sum(data, sum));
    uint16_t check =
        zero == CARRY_ZERO_IS_PLAIN ? carry_sum_finish(rest) : carry_sum_finish_nonzero(rest);
    return checksum_number(check);
}

/* Judges a mismatch. In a quoted packet it is not damage: routers truncate and edit what they
 * quote. */
static void mark_bad(struct carry_packet_sum *sum) {
    sum->verdict = sum->quoted ? CARRY_VERDICT_UNVERIFIABLE : CARRY_VERDICT_BAD;
    sum->reason = sum->quoted ? CARRY_REASON_QUOTED : CARRY_REASON_NONE;
}

/*
 * Returns the right value of the field from `total`, the sum of all covered bytes with the stored
 * field. A result of 0 is ambiguous (RFC 1624, section 3): then the covered bytes are summed again.
 */
static uint32_t expected_from_total(const uint8_t *data, const struct carry_packet_sum *sum,
                                    enum carry_verdict zero, uint32_t total, uint16_t stored) {
    uint16_t check = carry_sum_finish(carry_sum_combine(total, (uint16_t)~stored, 0));
    return check ? checksum_number(check) : compute_checksum(data, sum, zero);
}

/*
 * Judges an Internet checksum that does not verify: sets `expected` and the verdict. Returns
 * whether carry_offload_settle() must judge the sum again when all sums are listed.
 */
static CARRY_COLD bool explain_mismatch(const uint8_t *data, struct carry_packet_sum *sum,
                                        enum carry_verdict zero, uint32_t total) {
    uint16_t stored = carry_load_raw16(data + sum->field_offset);
    sum->expected = expected_from_total(data, sum, zero, total, stored);
    if (carry_offload_is_partial(sum, stored))
        sum->verdict = CARRY_VERDICT_PARTIAL;
    else
        mark_bad(sum);
    return carry_offload_is_left(sum) || carry_offload_is_empty_header(sum);
}

static CARRY_COLD void verify_crc32c(const uint8_t *data, struct carry_packet_sum *sum) {
    sum->expected = compute_crc32c(data, sum);
    if (sum->expected == sum->stored) {
        sum->verdict = CARRY_VERDICT_GOOD;
        return;
    }
    mark_bad(sum);
    if (sum->verdict == CARRY_VERDICT_BAD && carry_is_adler32(data, sum))
        sum->cause = CARRY_CAUSE_ADLER32;
}

ALWAYS_INLINE void verify_sum(struct carry_walk *walk, struct carry_packet_sum *sum,
                              enum carry_verdict zero) {
    const uint8_t *cover = walk->data + sum->cover_offset;
    uint32_t seed = seed_of_sum(walk->data, sum);
    /* Half of all sums belong to IPv4 headers without options: a constant size is faster. */
    uint32_t total = sum->cover_size == 20 ? carry_sum(cover, 20, seed)
                                           : carry_sum(cover, sum->cover_size, seed);
    /* A quoted 0 that means "no checksum" is never good, whatever the other bytes add up to. */
    bool is_sum = sum->stored || zero == CARRY_ZERO_IS_PLAIN;
    if (CARRY_LIKELY(carry_sum_fold(total) == 0xffff && is_sum)) {
        sum->verdict = CARRY_VERDICT_GOOD;
        sum->expected = sum->stored;
    } else if (explain_mismatch(walk->data, sum, zero, total)) {
        walk->unsettled = sum;
    }
}

/* Judges a field whose covered bytes were all captured. */
ALWAYS_INLINE void verify_field(struct carry_walk *walk, struct carry_packet_sum *sum,
                                enum carry_verdict zero) {
    if (sum->field_size == 4)
        verify_crc32c(walk->data, sum);
    else
        verify_sum(walk, sum, zero);
}

/* Checks whether a stored 0 means that there is no checksum. */
ALWAYS_INLINE bool zero_means_absent(const struct carry_packet_sum *sum, enum carry_verdict zero) {
    bool blames = zero == CARRY_VERDICT_ILLEGAL && sum->quoted;
    return zero != CARRY_ZERO_IS_PLAIN && !blames;
}

ALWAYS_INLINE void read_field(const uint8_t *data, struct carry_packet_sum *sum,
                              enum carry_verdict zero) {
    const uint8_t *field = data + sum->field_offset;
    sum->stored = sum->field_size == 4 ? carry_load32(field) : carry_load16(field);
    if (sum->stored == 0 && zero_means_absent(sum, zero))
        sum->verdict = (uint8_t)zero;
}

/*
 * Checks whether `expected` is wanted. For an absent sum, it is wanted only by callers that fill in
 * sums.
 */
static bool is_worth_computing(enum carry_effort effort, enum carry_verdict verdict) {
    return effort == CARRY_EFFORT_FILL ||
           (effort == CARRY_EFFORT_JUDGE && verdict == CARRY_VERDICT_ILLEGAL);
}

/*
 * Sets `expected` of a sum whose verdict follows from a stored 0 or from the header. All covered
 * bytes must be captured.
 */
static CARRY_COLD void set_expected(const uint8_t *data, enum carry_effort effort,
                                    struct carry_packet_sum *sum, enum carry_verdict zero) {
    if (sum->verdict == zero && is_worth_computing(effort, zero))
        sum->expected = compute_checksum(data, sum, zero);
}

/*
 * Judges a sum that cannot be verified. A stored 0 still shows that the sum is absent or illegal,
 * if the field was captured and nothing is malformed.
 */
static CARRY_COLD void judge_unverifiable(const uint8_t *data, struct limits limits,
                                          struct carry_packet_sum *sum, enum carry_verdict zero) {
    enum carry_reason reason = unverifiable_reason(limits, sum);
    if (field_end(sum) <= limits.readable - sum->cover_offset)
        read_field(data, sum, zero);
    if (reason == CARRY_REASON_MALFORMED)
        sum->verdict = CARRY_VERDICT_UNVERIFIABLE;
    if (sum->verdict == CARRY_VERDICT_UNVERIFIABLE)
        sum->reason = (uint8_t)reason;
}

ALWAYS_INLINE void judge_field(struct carry_walk *walk, struct carry_packet_sum *sum,
                               enum carry_verdict zero) {
    if (!CARRY_LIKELY(is_verifiable(walk, sum))) {
        judge_unverifiable(walk->data, read_limits(walk), sum, zero);
        return;
    }
    read_field(walk->data, sum, zero);
    if (!CARRY_LIKELY(sum->verdict == CARRY_VERDICT_UNVERIFIABLE))
        set_expected(walk->data, walk->effort, sum, zero);
    else if (walk->effort != CARRY_EFFORT_FIND)
        verify_field(walk, sum, zero);
}

ALWAYS_INLINE void copy_sum(struct carry_packet_sum *sum, const struct carry_packet_sum *other) {
    *sum = *other;
}

void carry_walk_list(struct carry_walk *walk, const struct carry_packet_sum *field,
                     enum carry_verdict zero) {
    if (walk->count == walk->capacity)
        return;
    struct carry_packet_sum *sum = &walk->sums[walk->count++];
    copy_sum(sum, field);
    sum->version = walk->version;
    sum->quoted = walk->quoted;
    sum->field_offset += walk->offset;
    sum->network_offset = walk->network;
    sum->cover_offset = walk->offset;
    judge_field(walk, sum, zero);
}

/* Initialises the sum that carry_walk_sum() lists. It is not judged yet. */
ALWAYS_INLINE void describe_sum(const struct carry_walk *walk, struct carry_packet_sum *sum,
                                enum carry_protocol protocol, uint32_t field, uint32_t size,
                                uint32_t pseudo) {
    uint8_t pseudo_protocol = pseudo ? walk->pseudo_protocol : 0;
    uint32_t pseudo_size = pseudo ? walk->pseudo_size : 0;
    *sum = (struct carry_packet_sum){
        .protocol = (uint8_t)protocol,
        .verdict = CARRY_VERDICT_UNVERIFIABLE,
        .version = walk->version,
        .field_size = 2,
        .quoted = walk->quoted,
        .field_offset = walk->offset + field,
        .network_offset = walk->network,
        .cover_offset = walk->offset,
        .cover_size = size,
        .pseudo = pseudo,
        .pseudo_protocol = pseudo_protocol,
        .pseudo_size = pseudo_size,
    };
}

/* Does not call carry_walk_list(): nearly all sums are listed here, so they are written in
 * place. */
CARRY_ALWAYS_INLINE void carry_walk_sum(struct carry_walk *walk, enum carry_protocol protocol,
                                        uint32_t field, uint32_t size, uint32_t pseudo,
                                        enum carry_verdict zero) {
    if (walk->count == walk->capacity)
        return;
    struct carry_packet_sum *sum = &walk->sums[walk->count++];
    describe_sum(walk, sum, protocol, field, size, pseudo);
    judge_field(walk, sum, zero);
}

void carry_walk_sum_either(struct carry_walk *walk, enum carry_protocol protocol, uint32_t field,
                           struct carry_cover cover, struct carry_cover other) {
    size_t index = walk->count;
    walk->pseudo_size = cover.size; /* these pseudo-headers hold the number of covered bytes */
    carry_walk_sum(walk, protocol, field, cover.size, cover.pseudo, CARRY_ZERO_IS_PLAIN);
    if (walk->count == index || walk->sums[index].verdict == CARRY_VERDICT_GOOD ||
        walk->effort == CARRY_EFFORT_FIND)
        return;
    struct carry_packet_sum first;
    copy_sum(&first, &walk->sums[index]);
    walk->count = index;
    walk->pseudo_size = other.size;
    carry_walk_sum(walk, protocol, field, other.size, other.pseudo, CARRY_ZERO_IS_PLAIN);
    const struct carry_packet_sum *second = &walk->sums[index];
    if (second->verdict != CARRY_VERDICT_GOOD &&
        unverifiable_reason(read_limits(walk), second) == CARRY_REASON_NONE)
        copy_sum(&walk->sums[index], &first);
}

/* --- Fragments --- */

bool carry_walk_enter_tunnel(struct carry_walk *walk) {
    if (walk->flags & CARRY_PACKET_NO_TUNNELS)
        return false;
    bool version4 = walk->version == 4;
    const uint8_t *addresses = walk->data + walk->network + (version4 ? 12 : 8);
    for (uint32_t i = 0; i < (version4 ? 8 : 32); i += 4)
        carry_walk_narrow_scope(walk, carry_load32(addresses + i));
    return true;
}

/*
 * Describes a fragment, unless it is quoted or its frame does not hold all of it: then its size is
 * not reliable.
 */
static CARRY_ALWAYS_INLINE void describe_fragment(const struct carry_walk *walk, uint8_t protocol,
                                                  uint32_t identification, uint32_t place,
                                                  bool more) {
    if (walk->quoted || walk->end > walk->bound)
        return;
    *walk->fragment = (struct carry_packet_fragment){
        .network_offset = walk->network,
        .content_offset = walk->offset,
        .size = carry_walk_size(walk),
        .place = place,
        .identification = identification,
        .scope = walk->scope,
        .version = walk->version,
        .protocol = protocol,
        .more = more,
    };
}

CARRY_ALWAYS_INLINE uint32_t carry_walk_fragment(struct carry_walk *walk, uint8_t protocol,
                                                 uint32_t identification, uint32_t place,
                                                 bool more) {
    if (walk->fragment && !walk->fragmented)
        describe_fragment(walk, protocol, identification, place, more);
    walk->fragmented = true;
    if (place != 0)
        return CARRY_NEXT_NONE;
    carry_walk_mark_unverifiable(walk, CARRY_REASON_FRAGMENT);
    walk->beyond = CARRY_REASON_FRAGMENT;
    return CARRY_NEXT(IP, protocol);
}

/* --- The protocol that comes next --- */

/* One switch for each space: the keys of that space are cases, all other keys expand to nothing. */
#define CARRY_PROTOCOL(id, name, keys) keys return CARRY_PROTOCOL_##id;
#define CARRY_ON_ETHERTYPE(number)
#define CARRY_ON_IP(number)
#define CARRY_ON_UDP(number)
#define CARRY_ON_ICMP(number)

#define CARRY_ON_LINK(number) case number:
CARRY_ALWAYS_INLINE uint32_t carry_walk_on_link(uint32_t linktype) {
    switch (linktype) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_ON_LINK
#define CARRY_ON_LINK(number)

#undef CARRY_ON_ETHERTYPE
#define CARRY_ON_ETHERTYPE(number) case number:
CARRY_ALWAYS_INLINE uint32_t carry_walk_on_ethertype(uint32_t type) {
    switch (type) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_ON_ETHERTYPE
#define CARRY_ON_ETHERTYPE(number)

#undef CARRY_ON_IP
#define CARRY_ON_IP(number) case number:
static CARRY_ALWAYS_INLINE uint32_t look_up_ip(uint32_t protocol) {
    switch (protocol) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_ON_IP
#define CARRY_ON_IP(number)

/* Compares the usual protocols first: a jump through a table costs more. */
CARRY_ALWAYS_INLINE uint32_t carry_walk_on_ip(uint32_t protocol) {
    if (CARRY_LIKELY(protocol == 6))
        return look_up_ip(6);
    if (CARRY_LIKELY(protocol == 17))
        return look_up_ip(17);
    return look_up_ip(protocol);
}

/* The size of this union is the largest port number of the table: larger ports need no switch. */
#undef CARRY_PROTOCOL
#define CARRY_PROTOCOL(id, name, keys) keys
#undef CARRY_ON_UDP
#define CARRY_ON_UDP(number) uint8_t to_##number[number];
union udp_ports {
#include <carry/protocols.def>
};
#undef CARRY_PROTOCOL
#define CARRY_PROTOCOL(id, name, keys) keys return CARRY_PROTOCOL_##id;

#undef CARRY_ON_UDP
#define CARRY_ON_UDP(number) case number:
CARRY_ALWAYS_INLINE uint32_t carry_walk_on_udp(uint32_t port) {
    if (port > sizeof(union udp_ports))
        return CARRY_NEXT_NONE;
    switch (port) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_ON_UDP
#define CARRY_ON_UDP(number)

#undef CARRY_ON_ICMP
#define CARRY_ON_ICMP(number) case number:
uint32_t carry_walk_on_icmp(uint32_t type) {
    switch (type) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_PROTOCOL

#include "packet/ethernet.h"
#include "packet/ip.h"
#include "packet/ipv6.h"
#include "packet/tcp.h"
#include "packet/udp.h"
#include "packet/vlan.h"

bool carry_packet_knows_link(uint32_t linktype) {
    return CARRY_NEXT(LINK, linktype) != CARRY_NEXT_NONE;
}

/* --- The walk --- */

static uint32_t (*const steps[])(struct carry_walk *walk) = {
#define CARRY_PROTOCOL(id, name, keys) carry_packet_walk_##name,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
};

static CARRY_ALWAYS_INLINE uint32_t take_step(struct carry_walk *walk, uint32_t next) {
    return steps[next](walk);
}

/* Starts the walk at the first byte of the frame. */
static CARRY_ALWAYS_INLINE void start_walk(struct carry_walk *walk,
                                           const struct carry_frame *frame) {
    /* Assigned member by member, because not all members need clearing for each frame. */
    walk->data = frame->data;
    walk->captured = frame->captured;
    walk->offset = 0;
    walk->wire = frame->wire > frame->captured ? frame->wire : frame->captured;
    walk->bound = walk->wire;
    walk->end = walk->wire;
    walk->network = 0;
    walk->version = 0;
    walk->why_unverifiable = CARRY_REASON_NONE;
    walk->beyond = CARRY_REASON_LENGTH;
    walk->quoted = false;
    walk->fragmented = false;
    walk->scope = frame->scope;
    walk->src = NULL;
    walk->dst = NULL;
    walk->unsettled = NULL;
    walk->count = 0;
    walk->steps = 0;
}

static CARRY_COLD uint32_t resume_walk(struct carry_walk *walk) {
    struct carry_walk_cold *cold = walk->cold;
    const struct carry_walk_resume_point *rest = &cold->resume_points[--cold->resume_count];
    walk->offset = rest->offset;
    walk->bound = rest->bound;
    walk->end = rest->end;
    walk->network = rest->network;
    walk->scope = rest->scope;
    walk->version = rest->version;
    walk->why_unverifiable = rest->why_unverifiable;
    walk->beyond = rest->beyond;
    walk->quoted = rest->quoted;
    uint32_t next = CARRY_NEXT_NONE;
    if (walk->offset < walk->captured)
        next = rest->walk(walk);
    return next;
}

static CARRY_COLD void list_layer(struct carry_walk *walk, uint32_t protocol) {
    if (walk->layers_count == walk->layers_capacity)
        return;
    struct carry_packet_layer *layer = &walk->layers[walk->layers_count++];
    layer->protocol = protocol;
    layer->offset = walk->offset;
}

/* Returns the next protocol. If the packet has ended, continues at the resume points. */
static CARRY_ALWAYS_INLINE uint32_t leave_packet(struct carry_walk *walk, uint32_t next) {
    while (next == CARRY_NEXT_NONE && walk->cold->resume_count)
        next = resume_walk(walk);
    return next;
}

static CARRY_ALWAYS_INLINE uint32_t advance_walk(struct carry_walk *walk, uint32_t next) {
    walk->steps++;
    if (walk->layers)
        list_layer(walk, next);
    return leave_packet(walk, take_step(walk, next));
}

/* Takes the step `next` and all later ones, to the end of the frame. */
static void run_walk(struct carry_walk *walk, uint32_t next) {
    struct carry_walk_cold cold;
    cold.resume_count = 0;
    cold.resume_dropped = false;
    walk->cold = &cold;
    /* A step lists at most one sum, so the limit on steps limits the sums, too. */
    while (next != CARRY_NEXT_NONE && walk->steps < CARRY_PACKET_SUMS_MAX)
        next = advance_walk(walk, next);
    walk->cold = NULL;
    if (walk->fragment)
        walk->fragment->deeper = next != CARRY_NEXT_NONE || cold.resume_dropped;
    if (walk->unsettled)
        carry_offload_settle(walk);
}

void carry_walk_frame(struct carry_walk *walk, const struct carry_frame *frame) {
    start_walk(walk, frame);
    run_walk(walk, CARRY_NEXT(LINK, frame->linktype));
}

/* --- The walk, inlined, for the most frequent packets --- */

#define LINKTYPE_ETHERNET 1

/* The maximum number of sums that these steps list. */
#define IN_LINE_SUMS_MAX 2

/* Expands to the case of a protocol, for the functions below. They take a step if `next` is one of
 * their protocols, and return the next protocol. */
#define STEP(ID, name)                                                                             \
    case CARRY_PROTOCOL_##ID:                                                                      \
        walk->steps++;                                                                             \
        next = carry_packet_walk_##name(walk);                                                     \
        break;

static CARRY_ALWAYS_INLINE uint32_t step_over_ethernet(struct carry_walk *walk, uint32_t next) {
    switch (next) { STEP(ETHERNET, ethernet) }
    return next;
}

static CARRY_ALWAYS_INLINE uint32_t step_over_tag(struct carry_walk *walk, uint32_t next) {
    switch (next) { STEP(VLAN, vlan) }
    return next;
}

static CARRY_ALWAYS_INLINE uint32_t step_over_transport(struct carry_walk *walk, uint32_t next) {
    switch (next) { STEP(TCP, tcp) STEP(UDP, udp) }
    return next;
}

/*
 * Steps over IP and the transport, unless that is in a fragment: all sums in fragments are judged
 * alike, by code that is not inlined. Inlines the transport twice, so that the version of IP is a
 * constant.
 */
static CARRY_ALWAYS_INLINE uint32_t step_over_network(struct carry_walk *walk, uint32_t next) {
    switch (next) {
    case CARRY_PROTOCOL_IP:
        walk->steps++;
        next = carry_packet_walk_ip(walk);
        return CARRY_LIKELY(!walk->fragmented) ? step_over_transport(walk, next) : next;
    case CARRY_PROTOCOL_IPV6:
        walk->steps++;
        next = carry_packet_walk_ipv6(walk);
        return step_over_transport(walk, next);
    default:
        return next;
    }
}

/* Takes the most frequent steps. Returns the next protocol. */
static CARRY_ALWAYS_INLINE uint32_t take_usual_steps(struct carry_walk *walk) {
    uint32_t next = step_over_ethernet(walk, CARRY_NEXT(LINK, LINKTYPE_ETHERNET));
    next = step_over_tag(walk, next);
    return step_over_network(walk, next);
}

/* Members of the walk after the usual steps. */
struct steps_done {
    uint32_t steps;
    size_t count;
    const struct carry_packet_sum *unsettled;
};

/*
 * Starts the walk over a frame again, and repeats the usual steps if they were taken, without room
 * for sums. Returns the next protocol. Copying the walk instead would need all its members, and
 * compilers would keep them, for usual packets too, through all steps.
 */
static CARRY_ALWAYS_INLINE uint32_t restart_walk(struct carry_walk *walk,
                                                 const struct carry_frame *frame, bool usual) {
    start_walk(walk, frame);
    return usual ? take_usual_steps(walk) : CARRY_NEXT(LINK, frame->linktype);
}

/* Takes all steps of a frame after those that are done. Returns the number of sums. */
static CARRY_COLD size_t finish_walk(const struct carry_frame *frame,
                                     const struct carry_packet_options *options,
                                     struct carry_packet_sum *sums, size_t capacity,
                                     struct carry_packet_fragment *fragment,
                                     struct steps_done done) {
    struct carry_walk walk;
    carry_walk_prepare(&walk, options, CARRY_EFFORT_JUDGE, NULL, 0);
    walk.fragment = fragment;
    uint32_t next = restart_walk(&walk, frame, done.steps > 0);
    walk.sums = sums;
    walk.capacity = capacity;
    walk.steps = done.steps;
    walk.count = done.count;
    walk.unsettled = done.unsettled;
    run_walk(&walk, next);
    return walk.count;
}

/* Judges the sums of a frame like carry_walk_frame(), with the most frequent steps inlined. Returns
 * how many sums it listed. */
static size_t check(const struct carry_frame *frame, const struct carry_packet_options *options,
                    struct carry_packet_sum *sums, size_t capacity,
                    struct carry_packet_fragment *fragment) {
    struct carry_walk walk;
    if (!CARRY_LIKELY(frame->linktype == LINKTYPE_ETHERNET && capacity >= IN_LINE_SUMS_MAX))
        return finish_walk(frame, options, sums, capacity, fragment, (struct steps_done){0});
    carry_walk_prepare(&walk, options, CARRY_EFFORT_JUDGE, sums, capacity);
    walk.fragment = fragment;
    start_walk(&walk, frame);
    uint32_t next = take_usual_steps(&walk);
    if (CARRY_LIKELY(next == CARRY_NEXT_NONE && !walk.unsettled))
        return walk.count;
    return finish_walk(frame, options, sums, capacity, fragment,
                       (struct steps_done){walk.steps, walk.count, walk.unsettled});
}

size_t carry_packet_check(const struct carry_frame *frame,
                          const struct carry_packet_options *options, struct carry_packet_sum *sums,
                          size_t capacity) {
    return check(frame, options, sums, capacity, NULL);
}

size_t carry_packet_check_fragment(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *sums, size_t capacity,
                                   struct carry_packet_fragment *fragment) {
    fragment->version = 0;
    fragment->deeper = false;
    return check(frame, options, sums, capacity, fragment);
}

size_t carry_packet_walk(const struct carry_frame *frame,
                         const struct carry_packet_options *options, struct carry_packet_sum *sums,
                         size_t capacity) {
    struct carry_walk walk;
    carry_walk_prepare(&walk, options, CARRY_EFFORT_FIND, sums, capacity);
    carry_walk_frame(&walk, frame);
    return walk.count;
}

size_t carry_packet_layers(const struct carry_frame *frame,
                           const struct carry_packet_options *options,
                           struct carry_packet_layer *layers, size_t capacity) {
    struct carry_walk walk;
    carry_walk_prepare(&walk, options, CARRY_EFFORT_FIND, NULL, 0);
    walk.layers = layers;
    walk.layers_capacity = capacity;
    walk.layers_count = 0;
    carry_walk_frame(&walk, frame);
    return walk.layers_count;
}

/* --- Names --- */

static const char *name_or_unknown(const char *const *names, size_t count, unsigned index) {
    return index < count ? names[index] : "unknown";
}

const char *carry_packet_protocol_name(unsigned protocol) {
    static const char *const names[] = {
#define CARRY_PROTOCOL(id, name, keys) #name,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
    };
    return name_or_unknown(names, CARRY_PROTOCOL_COUNT, protocol);
}

const char *carry_packet_verdict_name(unsigned verdict) {
    static const char *const names[CARRY_VERDICT_COUNT] = {
        [CARRY_VERDICT_GOOD] = "good",       [CARRY_VERDICT_BAD] = "bad",
        [CARRY_VERDICT_PARTIAL] = "partial", [CARRY_VERDICT_ABSENT] = "absent",
        [CARRY_VERDICT_ILLEGAL] = "illegal", [CARRY_VERDICT_UNVERIFIABLE] = "unverifiable",
    };
    return name_or_unknown(names, CARRY_VERDICT_COUNT, verdict);
}

const char *carry_packet_reason_name(unsigned reason) {
    static const char *const names[CARRY_REASON_COUNT] = {
        [CARRY_REASON_NONE] = "none",           [CARRY_REASON_SNAPLEN] = "snaplen",
        [CARRY_REASON_FRAGMENT] = "fragment",   [CARRY_REASON_LENGTH] = "length",
        [CARRY_REASON_MALFORMED] = "malformed", [CARRY_REASON_QUOTED] = "quoted",
        [CARRY_REASON_ROUTING] = "routing",
    };
    return name_or_unknown(names, CARRY_REASON_COUNT, reason);
}

const char *carry_packet_cause_name(unsigned cause) {
    static const char *const names[CARRY_CAUSE_COUNT] = {
        [CARRY_CAUSE_NONE] = "none",
        [CARRY_CAUSE_HEADER] = "header",
        [CARRY_CAUSE_ADLER32] = "adler32",
    };
    return name_or_unknown(names, CARRY_CAUSE_COUNT, cause);
}
