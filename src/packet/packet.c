/* SPDX-License-Identifier: MIT */
/* The walk from header to header, and the judgement of each checksum on the way. */
#include "packet/walk.h"

/* --- Judgement --- */

/*
 * What nearly every sum goes through, all in one function: carry_walk_sum(), where the size of the
 * field and the want of a gap are constants. Left to itself, gcc makes calls of it, since
 * carry_walk_list() needs it too, and takes 5 % more instructions for a frame of IMIX.
 */
#define PER_SUM static inline __attribute__((always_inline))

uint32_t carry_walk_pseudo(struct carry_walk *walk, uint8_t protocol, uint32_t size) {
    walk->pseudo_protocol = protocol;
    walk->pseudo_size = size;
    if (walk->version == 6)
        return carry_sum_pseudo6(walk->src, walk->dst, protocol, size, 0);
    return carry_sum_pseudo4(walk->src, walk->dst, protocol, size, 0);
}

/* Why the sum cannot be told, the gravest reason first. */
PER_SUM enum carry_reason obstacle(const struct carry_walk *walk,
                                   const struct carry_packet_sum *sum) {
    uint64_t end = (uint64_t)sum->cover_offset + sum->cover_size;
    uint64_t field_end = (uint64_t)sum->field_offset + sum->field_size;
    bool contradiction = field_end > end || end > walk->end ||
                         (uint32_t)sum->gap_offset + sum->gap_size > sum->cover_size;
    /* In a fragment, lengths are those of the whole datagram. */
    if (contradiction && walk->doubt != CARRY_REASON_FRAGMENT)
        return CARRY_REASON_MALFORMED;
    if (walk->doubt != CARRY_REASON_NONE)
        return walk->doubt;
    if (end > walk->bound)
        return walk->beyond;
    if (end > walk->captured)
        return CARRY_REASON_SNAPLEN;
    return CARRY_REASON_NONE;
}

/* The pseudo-header, less the bytes of the gap. */
static uint32_t pseudo_less_gap(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    const uint8_t *gap = walk->data + sum->cover_offset + sum->gap_offset;
    uint16_t less = (uint16_t)~carry_sum_fold(carry_sum(gap, sum->gap_size, 0));
    return carry_sum_combine(sum->pseudo, less, 0);
}

/* What the sum starts from, the gap being among the bytes that will be added. */
PER_SUM uint32_t seed_of(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    return sum->gap_size ? pseudo_less_gap(walk, sum) : sum->pseudo;
}

/* The partial sum of what is covered, but for the field itself. */
static uint32_t sum_without_field(const struct carry_walk *walk, const struct carry_packet_sum *sum,
                                  uint32_t seed) {
    uint32_t before = sum->field_offset - sum->cover_offset;
    uint32_t after = before + sum->field_size;
    const uint8_t *cover = walk->data + sum->cover_offset;
    return carry_sum(cover + after, sum->cover_size - after, carry_sum(cover, before, seed));
}

/*
 * Does the field hold what is left for the network card to complete: the folded sum of the
 * pseudo-header, not inverted? For large sends, Windows leaves the length out of it, since each
 * segment will have its own.
 */
static bool is_partial(const struct carry_packet_sum *sum, uint16_t stored) {
    uint32_t size;
    const uint8_t bytes[4] = {(uint8_t)(sum->pseudo_size >> 24), (uint8_t)(sum->pseudo_size >> 16),
                              (uint8_t)(sum->pseudo_size >> 8), (uint8_t)sum->pseudo_size};
    __builtin_memcpy(&size, bytes, sizeof size);
    return sum->pseudo && (stored == carry_sum_fold(sum->pseudo) ||
                           stored == carry_sum_fold(carry_sum_combine(sum->pseudo, ~size, 0)));
}

/* A CRC32c covers its own field as zeros, and is stored with its lowest byte first. */
static uint32_t compute_crc32c(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    static const uint8_t zeros[4];
    uint32_t before = sum->field_offset - sum->cover_offset;
    uint32_t after = before + sum->field_size;
    const uint8_t *cover = walk->data + sum->cover_offset;
    uint32_t crc = carry_crc32c(zeros, sizeof zeros, carry_crc32c(cover, before, 0));
    return __builtin_bswap32(carry_crc32c(cover + after, sum->cover_size - after, crc));
}

/* What to store in the field, where all that is covered is there. */
static uint32_t compute(const struct carry_walk *walk, const struct carry_packet_sum *sum,
                        enum carry_verdict zero) {
    if (sum->field_size == 4)
        return compute_crc32c(walk, sum);
    uint32_t rest = sum_without_field(walk, sum, seed_of(walk, sum));
    uint16_t check =
        zero == CARRY_ZERO_IS_PLAIN ? carry_sum_finish(rest) : carry_sum_finish_nonzero(rest);
    return carry_load16((const uint8_t *)&check);
}

/* What routers cut and edit may mismatch without being damage. */
static void condemn(const struct carry_walk *walk, struct carry_packet_sum *sum) {
    sum->verdict = walk->quoted ? CARRY_VERDICT_UNVERIFIABLE : CARRY_VERDICT_BAD;
    sum->reason = walk->quoted ? CARRY_REASON_QUOTED : CARRY_REASON_NONE;
}

/*
 * The same, from the sum of all that is covered, the field with what is stored there included. As
 * in any difference, nobody can tell zeros alone from what adds up to all ones (RFC 1624,
 * section 3): then what is covered has to be asked again.
 */
static uint32_t expect(const struct carry_walk *walk, const struct carry_packet_sum *sum,
                       enum carry_verdict zero, uint32_t total, uint16_t stored) {
    uint16_t check = carry_sum_finish(carry_sum_combine(total, (uint16_t)~stored, 0));
    return check ? carry_load16((const uint8_t *)&check) : compute(walk, sum, zero);
}

/* What an Internet checksum that does not verify is, and what it should be. */
static void explain_mismatch(struct carry_walk *walk, struct carry_packet_sum *sum,
                             enum carry_verdict zero, uint32_t total) {
    uint16_t stored; /* in memory order */
    __builtin_memcpy(&stored, walk->data + sum->field_offset, sizeof stored);
    sum->expected = expect(walk, sum, zero, total, stored);
    if (is_partial(sum, stored)) {
        sum->verdict = CARRY_VERDICT_PARTIAL;
        if (!walk->quoted)
            walk->partial = sum;
    } else {
        condemn(walk, sum);
    }
}

static void verify_crc32c(const struct carry_walk *walk, struct carry_packet_sum *sum) {
    sum->expected = compute_crc32c(walk, sum);
    if (sum->expected == sum->stored)
        sum->verdict = CARRY_VERDICT_GOOD;
    else
        condemn(walk, sum);
}

PER_SUM void verify_sum(struct carry_walk *walk, struct carry_packet_sum *sum,
                        enum carry_verdict zero) {
    const uint8_t *cover = walk->data + sum->cover_offset;
    uint32_t seed = seed_of(walk, sum);
    /* IPv4 headers without options are every other sum: their length is worth a constant. */
    uint32_t total = sum->cover_size == 20 ? carry_sum(cover, 20, seed)
                                           : carry_sum(cover, sum->cover_size, seed);
    /* A quoted 0 that says that there is none is no sum, whatever all else adds up to. */
    bool is_sum = sum->stored || zero == CARRY_ZERO_IS_PLAIN;
    if (carry_sum_finish(total) == 0 && is_sum) {
        sum->verdict = CARRY_VERDICT_GOOD;
        sum->expected = sum->stored;
    } else {
        explain_mismatch(walk, sum, zero, total);
    }
}

/* Judges a field, of which all that it covers is there. */
PER_SUM void verify(struct carry_walk *walk, struct carry_packet_sum *sum,
                    enum carry_verdict zero) {
    if (sum->field_size == 4)
        verify_crc32c(walk, sum);
    else
        verify_sum(walk, sum, zero);
}

/* Does the outer sum verify once the inner one, which it covers, holds what is expected of it? */
static bool verifies_around(const struct carry_walk *walk, const struct carry_packet_sum *outer,
                            const struct carry_packet_sum *inner) {
    const uint8_t expected[2] = {(uint8_t)(inner->expected >> 8), (uint8_t)inner->expected};
    uint32_t before = inner->field_offset - outer->cover_offset;
    uint32_t after = before + inner->field_size;
    if (after > outer->cover_size || outer->field_size != 2)
        return false;
    const uint8_t *cover = walk->data + outer->cover_offset;
    uint32_t sum = carry_sum(cover, before, outer->pseudo);
    sum = carry_sum_combine(sum, carry_sum(expected, sizeof expected, 0), before);
    uint32_t rest = carry_sum(cover + after, outer->cover_size - after, 0);
    return carry_sum_finish(carry_sum_combine(sum, rest, after)) == 0;
}

/*
 * A network card completes one sum of a frame. What stands around it, in the headers of tunnels, is
 * written as it will be right then ("local checksum offload"): no damage either.
 */
static void judge_around_partial(const struct carry_walk *walk) {
    for (struct carry_packet_sum *outer = walk->sums; outer < walk->partial; outer++)
        if (outer->verdict == CARRY_VERDICT_BAD && verifies_around(walk, outer, walk->partial)) {
            outer->verdict = CARRY_VERDICT_PARTIAL;
            outer->expected = outer->stored;
        }
}

/* Reads the field, where it was captured and its layer has room for it. */
static bool read_field(const struct carry_walk *walk, struct carry_packet_sum *sum) {
    if ((uint64_t)sum->field_offset + sum->field_size > carry_walk_readable(walk))
        return false;
    const uint8_t *field = walk->data + sum->field_offset;
    sum->stored = sum->field_size == 4 ? carry_load32(field) : carry_load16(field);
    return true;
}

/* Does a stored 0 say that there is no sum? */
static bool means_none(const struct carry_walk *walk, enum carry_verdict zero) {
    bool blames = zero == CARRY_VERDICT_ILLEGAL && walk->quoted;
    return zero != CARRY_ZERO_IS_PLAIN && !blames;
}

/* Nobody wants to know what a sum would be that need not be there, unless to fill it in. */
static bool is_worth_computing(const struct carry_walk *walk, enum carry_verdict verdict) {
    return walk->effort == CARRY_EFFORT_FILL ||
           (walk->effort == CARRY_EFFORT_JUDGE && verdict == CARRY_VERDICT_ILLEGAL);
}

/* The verdict needs no sum: a stored 0 tells, or the header. Nothing does that is malformed. */
static void complete(const struct carry_walk *walk, struct carry_packet_sum *sum,
                     enum carry_verdict zero, enum carry_reason reason) {
    bool stores_zero = sum->verdict == zero;
    if (reason == CARRY_REASON_MALFORMED) {
        sum->verdict = CARRY_VERDICT_UNVERIFIABLE;
        sum->reason = CARRY_REASON_MALFORMED;
    } else if (reason == CARRY_REASON_NONE && stores_zero && is_worth_computing(walk, zero)) {
        sum->expected = compute(walk, sum, zero);
    }
}

/* Judges a sum that says what it covers, but not yet of which packet. */
PER_SUM void judge(struct carry_walk *walk, struct carry_packet_sum *sum, enum carry_verdict zero) {
    sum->version = walk->version;
    sum->quoted = walk->quoted;
    sum->field_offset += walk->offset;
    sum->network_offset = walk->network;
    sum->cover_offset = walk->offset;

    if (read_field(walk, sum) && sum->stored == 0 && means_none(walk, zero))
        sum->verdict = (uint8_t)zero;
    enum carry_reason reason = obstacle(walk, sum);
    if (sum->verdict != CARRY_VERDICT_UNVERIFIABLE)
        complete(walk, sum, zero, reason);
    else if (reason != CARRY_REASON_NONE)
        sum->reason = (uint8_t)reason;
    else if (walk->effort != CARRY_EFFORT_FIND)
        verify(walk, sum, zero);
}

void carry_walk_list(struct carry_walk *walk, const struct carry_packet_sum *field,
                     enum carry_verdict zero) {
    if (walk->count == walk->capacity)
        return;
    struct carry_packet_sum *sum = &walk->sums[walk->count++];
    *sum = *field;
    judge(walk, sum, zero);
}

/* Not through carry_walk_list(): nearly all sums come this way, and are written where they stay. */
void carry_walk_sum(struct carry_walk *walk, enum carry_protocol protocol, uint32_t field,
                    uint32_t size, uint32_t pseudo, enum carry_verdict zero) {
    if (walk->count == walk->capacity)
        return;
    struct carry_packet_sum *sum = &walk->sums[walk->count++];
    *sum = (struct carry_packet_sum){
        .protocol = (uint8_t)protocol,
        .verdict = CARRY_VERDICT_UNVERIFIABLE,
        .field_size = 2,
        .field_offset = field,
        .cover_size = size,
        .pseudo = pseudo,
        .pseudo_protocol = pseudo ? walk->pseudo_protocol : 0,
        .pseudo_size = pseudo ? walk->pseudo_size : 0,
    };
    judge(walk, sum, zero);
}

void carry_walk_sum_either(struct carry_walk *walk, enum carry_protocol protocol, uint32_t field,
                           struct carry_cover cover, struct carry_cover other) {
    size_t index = walk->count;
    walk->pseudo_size = cover.size; /* such pseudo-headers hold what is covered */
    carry_walk_sum(walk, protocol, field, cover.size, cover.pseudo, CARRY_ZERO_IS_PLAIN);
    if (walk->count == index || walk->sums[index].verdict == CARRY_VERDICT_GOOD ||
        walk->effort == CARRY_EFFORT_FIND)
        return;
    struct carry_packet_sum first = walk->sums[index];
    walk->count = index;
    walk->pseudo_size = other.size;
    carry_walk_sum(walk, protocol, field, other.size, other.pseudo, CARRY_ZERO_IS_PLAIN);
    const struct carry_packet_sum *second = &walk->sums[index];
    if (second->verdict != CARRY_VERDICT_GOOD && obstacle(walk, second) == CARRY_REASON_NONE)
        walk->sums[index] = first;
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

/* Only what its own frame holds whole, so that sizes can be relied on. */
static void describe_fragment(const struct carry_walk *walk, uint8_t protocol,
                              uint32_t identification, uint32_t place, bool more) {
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

uint32_t carry_walk_fragment(struct carry_walk *walk, uint8_t protocol, uint32_t identification,
                             uint32_t place, bool more) {
    if (walk->fragment && !walk->fragmented)
        describe_fragment(walk, protocol, identification, place, more);
    walk->fragmented = true;
    if (place != 0)
        return CARRY_NEXT_NONE;
    carry_walk_doubt(walk, CARRY_REASON_FRAGMENT);
    walk->beyond = CARRY_REASON_FRAGMENT;
    return CARRY_NEXT(IP, protocol);
}

/* --- What comes next --- */

/* A switch for each space: its keys are cases there, those of the others nothing. */
#define CARRY_PROTOCOL(id, name, keys) keys return CARRY_PROTOCOL_##id;
#define CARRY_ON_ETHERTYPE(number)
#define CARRY_ON_IP(number)
#define CARRY_ON_UDP(number)
#define CARRY_ON_ICMP(number)

#define CARRY_ON_LINK(number) case number:
uint32_t carry_walk_on_link(uint32_t linktype) {
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
uint32_t carry_walk_on_ethertype(uint32_t type) {
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
uint32_t carry_walk_on_ip(uint32_t protocol) {
    switch (protocol) {
    default:
        return CARRY_NEXT_NONE;
#include <carry/protocols.def>
    }
}
#undef CARRY_ON_IP
#define CARRY_ON_IP(number)

#undef CARRY_ON_UDP
#define CARRY_ON_UDP(number) case number:
uint32_t carry_walk_on_udp(uint32_t port) {
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

bool carry_packet_knows_link(uint32_t linktype) {
    return CARRY_NEXT(LINK, linktype) != CARRY_NEXT_NONE;
}

/* --- The walk --- */

static uint32_t (*const steps[])(struct carry_walk *walk) = {
#define CARRY_PROTOCOL(id, name, keys) carry_packet_walk_##name,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
};

/* Starts where nothing is known but where the bytes are. */
static void start(struct carry_walk *walk, const struct carry_frame *frame) {
    /* Field by field: not all of it needs clearing for each frame. */
    walk->data = frame->data;
    walk->captured = frame->captured;
    walk->offset = 0;
    walk->bound = frame->wire > frame->captured ? frame->wire : frame->captured;
    walk->end = walk->bound;
    walk->network = 0;
    walk->version = 0;
    walk->doubt = CARRY_REASON_NONE;
    walk->beyond = CARRY_REASON_LENGTH;
    walk->quoted = false;
    walk->fragmented = false;
    walk->scope = frame->scope;
    walk->partial = NULL;
    walk->rest_count = 0;
    walk->count = 0;
}

static uint32_t start_rest(struct carry_walk *walk) {
    const struct carry_walk_rest *rest = &walk->rests[--walk->rest_count];
    if (rest->offset >= walk->captured)
        return CARRY_NEXT_NONE;
    walk->offset = rest->offset;
    walk->bound = rest->bound;
    walk->end = rest->end;
    walk->network = rest->network;
    walk->scope = rest->scope;
    walk->version = rest->version;
    walk->doubt = rest->doubt;
    walk->beyond = rest->beyond;
    walk->quoted = rest->quoted;
    return rest->walk(walk);
}

static void list_layer(struct carry_walk *walk, uint32_t protocol) {
    if (walk->layers_count < walk->layers_capacity)
        walk->layers[walk->layers_count++] =
            (struct carry_packet_layer){.protocol = protocol, .offset = walk->offset};
}

void carry_walk_frame(struct carry_walk *walk, const struct carry_frame *frame) {
    start(walk, frame);
    uint32_t next = CARRY_NEXT(LINK, frame->linktype);
    /* A step lists one sum at most, so this many steps list no more than is promised. */
    for (unsigned i = 0; next != CARRY_NEXT_NONE && i < CARRY_PACKET_SUMS_MAX; i++) {
        if (walk->layers)
            list_layer(walk, next);
        next = steps[next](walk);
        while (next == CARRY_NEXT_NONE && walk->rest_count)
            next = start_rest(walk);
    }
    if (walk->partial)
        judge_around_partial(walk);
}

size_t carry_packet_check(const struct carry_frame *frame,
                          const struct carry_packet_options *options, struct carry_packet_sum *sums,
                          size_t capacity) {
    struct carry_walk walk;
    carry_walk_prepare(&walk, options, CARRY_EFFORT_JUDGE, sums, capacity);
    carry_walk_frame(&walk, frame);
    return walk.count;
}

size_t carry_packet_check_fragment(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *sums, size_t capacity,
                                   struct carry_packet_fragment *fragment) {
    struct carry_walk walk;
    carry_walk_prepare(&walk, options, CARRY_EFFORT_JUDGE, sums, capacity);
    walk.fragment = fragment;
    fragment->version = 0;
    carry_walk_frame(&walk, frame);
    return walk.count;
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

static const char *name_of(const char *const *names, size_t count, unsigned index) {
    return index < count ? names[index] : "?";
}

const char *carry_packet_protocol_name(unsigned protocol) {
    static const char *const names[] = {
#define CARRY_PROTOCOL(id, name, keys) #name,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
    };
    return name_of(names, CARRY_PROTOCOL_COUNT, protocol);
}

const char *carry_packet_verdict_name(unsigned verdict) {
    static const char *const names[CARRY_VERDICT_COUNT] = {
        [CARRY_VERDICT_GOOD] = "good",       [CARRY_VERDICT_BAD] = "bad",
        [CARRY_VERDICT_PARTIAL] = "partial", [CARRY_VERDICT_ABSENT] = "absent",
        [CARRY_VERDICT_ILLEGAL] = "illegal", [CARRY_VERDICT_UNVERIFIABLE] = "unverifiable",
    };
    return name_of(names, CARRY_VERDICT_COUNT, verdict);
}

const char *carry_packet_reason_name(unsigned reason) {
    static const char *const names[CARRY_REASON_COUNT] = {
        [CARRY_REASON_NONE] = "none",           [CARRY_REASON_SNAPLEN] = "snaplen",
        [CARRY_REASON_FRAGMENT] = "fragment",   [CARRY_REASON_LENGTH] = "length",
        [CARRY_REASON_MALFORMED] = "malformed", [CARRY_REASON_QUOTED] = "quoted",
        [CARRY_REASON_ROUTING] = "routing",
    };
    return name_of(names, CARRY_REASON_COUNT, reason);
}
