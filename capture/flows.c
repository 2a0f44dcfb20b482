/* SPDX-License-Identifier: MIT */
#include "flows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "ends.h"

#define BUCKETS_LOG2 9
#define NO_FLOW      UINT16_MAX
#define LAYOUTS_MAX  8

#define FLOWS_EXAMINED 16 /* candidates for replacement, of FLOWS_MAX */

#define IDENT_AT 4           /* in an IPv4 header */
#define LATER_NS 1000000000u /* so late, hardly anything captures a packet again */

#define MODULUS 65535u /* of ones'-complement numbers */

#define EMPTY_HEADER 0x10000u /* of `protocol` below: the IPv4 headers whose sums hold 0 */

struct key {
    struct ends ends;
    uint32_t protocol;
};

/* Numbers modulo 65535 that all bad sums of a flow may share. */
enum trait {
    TRAIT_DIFFERENCE, /* stored less expected: a field was changed, and not the sum */
    TRAIT_VALUE,      /* stored, of UDP: nothing computed it */
    TRAIT_REST,       /* stored less the length: a sum of a pseudo-header, left to a network card.
                         Of empty headers, that of the packet's next sum without its protocol */
    TRAIT_COUNT
};

/* Distinct values, up to as many as count. */
struct seen {
    uint32_t values[CARRY_CAPTURE_FLOW_AGREES];
    unsigned count;
};

struct flow {
    struct key key;
    uint32_t traits[TRAIT_COUNT];
    uint8_t shared;       /* a bit for each trait that all bad sums share; 0: refuted */
    uint16_t next;        /* of the same bucket */
    uint64_t last;        /* packet with a bad sum */
    uint64_t count;       /* bad sums */
    uint64_t one_bit;     /* of these, those that one flipped bit explains */
    uint64_t twice;       /* of these, those that a second computation explains */
    uint64_t with_header; /* of these, those that share a trait with another sum of the same
                             packet: the difference or, of empty headers, the rest */
    uint64_t sendings;    /* of these, those that were sent, not only captured, again */
    uint64_t sent_ns;     /* the time of the last one */
    struct seen expected; /* a packet that is captured again is no further evidence */
    struct seen idents;   /* of IPv4 headers */
    struct seen lengths;
};

/* Where in a frame the sum of a flow lies. Of `sum`, only the members that say this are set. */
struct layout {
    uint32_t linktype;
    struct carry_packet_sum sum;
};

struct flows {
    uint64_t seed;
    size_t count;
    uint16_t hand; /* where the next search for a place begins */
    uint16_t *buckets;
    struct flow *list;
    struct layout layouts[LAYOUTS_MAX];
    unsigned layouts_count;
    bool has_others;  /* more layouts than fit: any packet may belong to a flow */
    uint16_t header;  /* the flow of the IPv4 header that was added last, */
    uint32_t network; /* and the header's offset in its packet */
};

struct flows *carry_flows_create(void) {
    return calloc(1, sizeof(struct flows));
}

void carry_flows_free(struct flows *flows) {
    if (!flows)
        return;
    free(flows->buckets);
    free(flows->list);
    free(flows);
}

void carry_flows_clear(struct flows *flows) {
    if (flows->count)
        memset(flows->buckets, 0xff, sizeof *flows->buckets << BUCKETS_LOG2);
    flows->count = 0;
    flows->hand = 0;
    flows->layouts_count = 0;
    flows->has_others = false;
    flows->header = NO_FLOW;
}

/* Allocates the table with the first flow only, as hardly any capture has one. */
static bool make_flow_table(struct flows *flows) {
    const size_t size = sizeof *flows->buckets << BUCKETS_LOG2;
    if (flows->list)
        return true;
    flows->buckets = malloc(size);
    flows->list = calloc(FLOWS_MAX, sizeof *flows->list);
    if (flows->buckets && flows->list && getentropy(&flows->seed, sizeof flows->seed) == 0) {
        memset(flows->buckets, 0xff, size);
        flows->header = NO_FLOW;
        return true;
    }
    free(flows->buckets);
    free(flows->list);
    flows->buckets = NULL;
    flows->list = NULL;
    return false;
}

/* --- Places in the table --- */

static uint32_t key_protocol(const struct carry_packet_sum *sum) {
    return sum->protocol | (carry_header_senders_is_alone(sum) ? EMPTY_HEADER : 0);
}

static struct key flow_key(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    return (struct key){.ends = carry_ends_of(frame, sum), .protocol = key_protocol(sum)};
}

static bool holds_empty_headers(const struct flow *flow) {
    return flow->key.protocol & EMPTY_HEADER;
}

/* Hashes what distinguishes most flows: the last words of the addresses, and the ports, 0 if there
   are none. Multiply-shift hashing with a secret seed, as in header_senders.c. */
static size_t flow_slot(const struct flows *flows, uint32_t from, uint32_t to, uint32_t ports) {
    const uint64_t addresses = ((uint64_t)from << 32 | to) * flows->seed;
    return (size_t)((addresses >> 32 ^ ports) * flows->seed >> (64 - BUCKETS_LOG2));
}

static uint32_t last_word(const struct carry_capture_address *address) {
    return load32_network(address->bytes + (address->version == 6 ? 12 : 0));
}

static uint16_t *flow_bucket(const struct flows *flows, const struct key *key) {
    const struct ends *ends = &key->ends;
    const uint32_t ports =
        ends->from_port < 0 ? 0 : (uint32_t)ends->from_port << 16 | (uint32_t)ends->to_port;
    return &flows->buckets[flow_slot(flows, last_word(&ends->from), last_word(&ends->to), ports)];
}

/* Checks whether the bucket for this frame holds a flow. Reads only the frame's bytes, as it is
   called for every packet. */
static bool may_be_known(const struct flows *flows, const struct carry_frame *frame,
                         const struct carry_packet_sum *sum) {
    const uint8_t *data = frame->data;
    const bool has_ports = carry_ends_has_ports(sum->protocol);
    const size_t size = sum->version == 6 ? 16 : 4;
    const size_t end = sum->network_offset + (sum->version == 6 ? (size_t)40 : 20);
    if (end > frame->captured || (has_ports && (uint64_t)sum->cover_offset + 4 > frame->captured))
        return false;
    const uint32_t ports = has_ports ? load32_network(data + sum->cover_offset) : 0;
    const size_t slot = flow_slot(flows, load32_network(data + end - size - 4),
                                  load32_network(data + end - 4), ports);
    return flows->buckets[slot] != NO_FLOW;
}

static uint16_t find_flow(const struct flows *flows, const struct key *key) {
    _Static_assert(sizeof *key == sizeof key->ends + 4 && sizeof key->ends == 44,
                   "no padding to compare");
    if (!flows->count)
        return NO_FLOW;
    uint16_t place = *flow_bucket(flows, key);
    while (place != NO_FLOW && memcmp(&flows->list[place].key, key, sizeof *key) != 0)
        place = flows->list[place].next;
    return place;
}

static bool is_rarer(const struct flow *a, const struct flow *b) {
    return !a->shared != !b->shared ? !a->shared : a->count < b->count;
}

/* Returns the rarest of the next few flows in turn. Examines few, as the table changes with every
   packet where each packet has a flow of its own. */
static uint16_t rarest_flow(struct flows *flows) {
    uint16_t place = flows->hand;
    for (uint16_t i = 1; i < FLOWS_EXAMINED; i++)
        if (is_rarer(&flows->list[flows->hand + i], &flows->list[place]))
            place = (uint16_t)(flows->hand + i);
    flows->hand = (uint16_t)((flows->hand + FLOWS_EXAMINED) % FLOWS_MAX);
    return place;
}

static void unlink_flow(struct flows *flows, uint16_t place) {
    uint16_t *link = flow_bucket(flows, &flows->list[place].key);
    while (*link != place)
        link = &flows->list[*link].next;
    *link = flows->list[place].next;
    if (flows->header == place)
        flows->header = NO_FLOW;
}

static uint16_t free_place(struct flows *flows) {
    if (flows->count < FLOWS_MAX)
        return (uint16_t)flows->count++;
    const uint16_t place = rarest_flow(flows);
    unlink_flow(flows, place);
    return place;
}

static bool is_same_layout(const struct layout *a, const struct layout *b) {
    return a->linktype == b->linktype && memcmp(&a->sum, &b->sum, sizeof a->sum) == 0;
}

static struct layout sum_layout(uint32_t linktype, const struct carry_packet_sum *sum) {
    return (struct layout){linktype,
                           {.protocol = sum->protocol,
                            .version = sum->version,
                            .network_offset = sum->network_offset,
                            .cover_offset = sum->cover_offset}};
}

static bool knows_layout(const struct flows *flows, const struct layout *layout) {
    for (unsigned i = 0; i < flows->layouts_count; i++)
        if (is_same_layout(&flows->layouts[i], layout))
            return true;
    return flows->has_others;
}

static void add_layout(struct flows *flows, uint32_t linktype, const struct carry_packet_sum *sum) {
    const struct layout layout = sum_layout(linktype, sum);
    if (knows_layout(flows, &layout))
        return;
    if (flows->layouts_count < LAYOUTS_MAX)
        flows->layouts[flows->layouts_count++] = layout;
    else
        flows->has_others = true;
}

/* --- Traits --- */

static uint32_t subtract_mod(uint32_t a, uint32_t b) {
    return (a % MODULUS + MODULUS - b % MODULUS) % MODULUS;
}

static void find_traits(const struct carry_packet_sum *sum, uint32_t traits[TRAIT_COUNT]) {
    traits[TRAIT_DIFFERENCE] = carry_cause_difference(sum);
    traits[TRAIT_VALUE] = sum->stored % MODULUS;
    traits[TRAIT_REST] = subtract_mod(sum->stored, sum->pseudo_size);
}

/* Returns the traits that sums like this one may share. Those of empty headers are set by
   pair_with_empty(). */
static uint8_t possible_traits(const struct carry_packet_sum *sum) {
    if (carry_header_senders_is_alone(sum))
        return 1u << TRAIT_REST;
    return (uint8_t)(1u << TRAIT_DIFFERENCE |
                     (sum->protocol == CARRY_PROTOCOL_UDP ? 1u << TRAIT_VALUE : 0) |
                     (sum->pseudo ? 1u << TRAIT_REST : 0));
}

static bool shares(const struct flow *flow, enum trait trait) {
    return flow->shared >> trait & 1;
}

static void compare_traits(struct flow *flow, const struct carry_packet_sum *sum) {
    uint32_t traits[TRAIT_COUNT];
    find_traits(sum, traits);
    for (unsigned i = 0; i < TRAIT_COUNT; i++)
        if (flow->traits[i] != traits[i])
            flow->shared &= (uint8_t) ~(1u << i);
}

/* Returns true if the value is new and was added. */
static bool see_value(struct seen *seen, uint32_t value) {
    for (unsigned i = 0; i < seen->count; i++)
        if (seen->values[i] == value)
            return false;
    if (seen->count == CARRY_CAPTURE_FLOW_AGREES)
        return false;
    seen->values[seen->count++] = value;
    return true;
}

static void see_sum(struct flow *flow, const struct carry_packet_sum *sum) {
    see_value(&flow->expected, sum->expected);
    see_value(&flow->lengths, sum->pseudo_size);
}

/* Counts a packet unless it may be the last one, captured again. */
static void see_sending(struct flow *flow, const struct carry_capture_packet *packet,
                        const struct carry_packet_sum *sum) {
    const uint8_t *ident = packet->data + sum->network_offset + IDENT_AT;
    const bool is_other = sum->version == 4 && see_value(&flow->idents, load16_network(ident));
    if (!is_other && packet->time_ns < flow->sent_ns + LATER_NS)
        return;
    flow->sendings++;
    flow->sent_ns = packet->time_ns;
}

/* Returns the flow of a sum, which is created if it is new; NULL if there is no memory. */
static struct flow *use_flow(struct flows *flows, const struct carry_frame *frame,
                             const struct carry_packet_sum *sum) {
    const struct key key = flow_key(frame, sum);
    if (!make_flow_table(flows))
        return NULL;
    uint16_t place = find_flow(flows, &key);
    if (!(key.protocol & EMPTY_HEADER)) /* no good header refutes these */
        add_layout(flows, frame->linktype, sum);
    if (place != NO_FLOW)
        return &flows->list[place];
    place = free_place(flows);
    uint16_t *bucket = flow_bucket(flows, &key);
    flows->list[place] = (struct flow){.key = key, .shared = possible_traits(sum), .next = *bucket};
    find_traits(sum, flows->list[place].traits);
    *bucket = place;
    return &flows->list[place];
}

/* --- Sums --- */

/* Checks whether a flow may show the cause: no other cause is known, or only a flipped bit. A sum
   of UDP that holds 0xffff may be computed twice, or not computed and updated. */
static bool is_unexplained(const struct carry_packet_sum *sum, unsigned cause) {
    return sum->verdict == CARRY_VERDICT_BAD &&
           (cause == CARRY_CAPTURE_CAUSE_NONE || cause == CARRY_CAPTURE_CAUSE_ONE_BIT ||
            (cause == CARRY_CAPTURE_CAUSE_TWICE && sum->protocol == CARRY_PROTOCOL_UDP));
}

bool carry_flows_keeps(const struct carry_packet_sum *sum, unsigned cause) {
    const bool is_empty = cause == CARRY_CAPTURE_CAUSE_ZERO && carry_header_senders_is_alone(sum);
    return (is_unexplained(sum, cause) || is_empty) && sum->field_size == 2 && sum->version &&
           !sum->quoted;
}

/* Returns the cause of sums that are all off by the same difference. */
static enum carry_capture_cause cause_of_difference(const struct flow *flow) {
    const bool repeats = flow->expected.count < CARRY_CAPTURE_FLOW_AGREES;
    if (repeats && flow->sendings < CARRY_CAPTURE_FLOW_AGREES)
        return CARRY_CAPTURE_CAUSE_NONE;
    if (flow->with_header == flow->count)
        return CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED;
    return repeats ? CARRY_CAPTURE_CAUSE_REPEATED : CARRY_CAPTURE_CAUSE_REWRITTEN;
}

/* Checks whether the sums share a value that nothing computed. Those of one length may share the
   sum of a pseudo-header, which hardly ever is 0xffff. */
static bool is_none_updated(const struct flow *flow) {
    return shares(flow, TRAIT_VALUE) && (flow->lengths.count > 1 || flow->traits[TRAIT_VALUE] == 0);
}

/* Checks whether the sums depend on the length alone, with more than one length. */
static bool is_left_then_changed(const struct flow *flow) {
    return shares(flow, TRAIT_REST) && flow->lengths.count > 1 &&
           (!holds_empty_headers(flow) || flow->with_header == flow->count);
}

static enum carry_capture_cause flow_cause(const struct flow *flow) {
    if (flow->count < CARRY_CAPTURE_FLOW_AGREES)
        return CARRY_CAPTURE_CAUSE_NONE;
    if (shares(flow, TRAIT_DIFFERENCE))
        return flow->twice ? CARRY_CAPTURE_CAUSE_NONE : cause_of_difference(flow);
    if (flow->expected.count < CARRY_CAPTURE_FLOW_AGREES)
        return CARRY_CAPTURE_CAUSE_NONE;
    if (is_none_updated(flow))
        return CARRY_CAPTURE_CAUSE_NONE_UPDATED;
    return is_left_then_changed(flow) ? CARRY_CAPTURE_CAUSE_LEFT_THEN_CHANGED
                                      : CARRY_CAPTURE_CAUSE_NONE;
}

/* Pairs an empty header with the sum over its content. Addresses alone determine the rest of a
   pseudo-header's sum without its protocol, so all flows between them share it. */
static void pair_with_empty(struct flow *header, const struct carry_packet_sum *sum) {
    const uint32_t rest =
        subtract_mod(subtract_mod(sum->stored, sum->pseudo_size), sum->pseudo_protocol);
    if (!header->with_header)
        header->traits[TRAIT_REST] = rest;
    if (header->traits[TRAIT_REST] != rest || !sum->pseudo)
        header->shared = 0;
    header->with_header++;
    see_sum(header, sum);
}

/* Pairs the sum of an IPv4 header with the next one over its content: if both have the same
   difference, an address was changed. */
static void pair_with_header(struct flows *flows, struct flow *flow,
                             const struct carry_packet_sum *sum) {
    struct flow *header = flows->header == NO_FLOW ? NULL : &flows->list[flows->header];
    if (sum->protocol == CARRY_PROTOCOL_IP) {
        flows->header = (uint16_t)(flow - flows->list);
        flows->network = sum->network_offset;
        return;
    }
    if (!header || header->last != flow->last || flows->network != sum->network_offset)
        return;
    if (holds_empty_headers(header)) {
        pair_with_empty(header, sum);
    } else if (header->traits[TRAIT_DIFFERENCE] == carry_cause_difference(sum)) {
        header->with_header++;
        see_sum(header, sum); /* headers of one flow may all be the same */
        flow->with_header++;
    } else {
        return;
    }
    flows->header = NO_FLOW;
}

static void count_bad(struct flow *flow, const struct carry_capture_packet *packet,
                      const struct carry_packet_sum *sum, enum carry_capture_cause cause) {
    flow->count++;
    flow->one_bit += cause == CARRY_CAPTURE_CAUSE_ONE_BIT;
    flow->twice += cause == CARRY_CAPTURE_CAUSE_TWICE;
    if (holds_empty_headers(flow))
        return;
    compare_traits(flow, sum);
    see_sum(flow, sum);
    see_sending(flow, packet, sum);
}

static enum carry_capture_cause add_bad(struct flows *flows,
                                        const struct carry_capture_packet *packet, uint64_t number,
                                        const struct carry_packet_sum *sum,
                                        enum carry_capture_cause cause) {
    const struct carry_frame frame = carry_capture_frame(packet);
    struct flow *flow = use_flow(flows, &frame, sum);
    if (!flow)
        return cause;
    const enum carry_capture_cause before = flow_cause(flow);
    flow->last = number;
    count_bad(flow, packet, sum, cause);
    pair_with_header(flows, flow, sum);
    /* The content of an empty header comes after it. */
    const enum carry_capture_cause now = holds_empty_headers(flow) ? before : flow_cause(flow);
    return now ? now : cause;
}

static void refute_empty_headers(struct flows *flows, const struct ends *ends) {
    const struct key key = {
        .ends = {.from = ends->from, .to = ends->to, .from_port = -1, .to_port = -1},
        .protocol = CARRY_PROTOCOL_IP | EMPTY_HEADER};
    const uint16_t place = find_flow(flows, &key);
    if (place != NO_FLOW)
        flows->list[place].shared = 0;
}

/* Refutes the flow of a good sum, unless no bad sum had its layout: then the packet was captured at
   another place on the way, and contradicts nothing. */
static void add_good(struct flows *flows, const struct carry_capture_packet *packet,
                     const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct layout layout = sum_layout(frame.linktype, sum);
    const struct key key = flow_key(&frame, sum);
    const uint16_t place = find_flow(flows, &key);
    if (place == NO_FLOW || !flows->list[place].shared || !knows_layout(flows, &layout))
        return;
    flows->list[place].shared = 0;
    refute_empty_headers(flows, &key.ends);
}

enum carry_capture_cause carry_flows_add(struct flows *flows,
                                         const struct carry_capture_packet *packet, uint64_t number,
                                         const struct carry_packet_sum *sum,
                                         enum carry_capture_cause cause) {
    if (sum->verdict == CARRY_VERDICT_GOOD)
        add_good(flows, packet, sum);
    return carry_flows_keeps(sum, cause) ? add_bad(flows, packet, number, sum, cause) : cause;
}

static bool may_refute(const struct flows *flows, const struct carry_frame *frame, uint64_t number,
                       const struct layout *layout) {
    if (layout->linktype != frame->linktype || !may_be_known(flows, frame, &layout->sum))
        return false;
    const struct key key = flow_key(frame, &layout->sum);
    const uint16_t place = find_flow(flows, &key);
    return place != NO_FLOW && flows->list[place].shared && flows->list[place].last != number;
}

bool carry_flows_any(const struct flows *flows) {
    return flows->count;
}

bool carry_flows_want(const struct flows *flows, const struct carry_capture_packet *packet) {
    const struct carry_frame frame = carry_capture_frame(packet);
    for (unsigned i = 0; i < flows->layouts_count; i++)
        if (may_refute(flows, &frame, packet->number, &flows->layouts[i]))
            return true;
    return flows->has_others;
}

/* --- At the end --- */

static const struct flow *finding_flow(const struct flows *flows,
                                       const struct carry_capture_finding *finding) {
    const struct key key = {.ends = {.from = finding->from,
                                     .to = finding->to,
                                     .from_port = finding->from_port,
                                     .to_port = finding->to_port},
                            .protocol = key_protocol(&finding->sum)};
    const uint16_t place =
        carry_flows_keeps(&finding->sum, finding->cause) ? find_flow(flows, &key) : NO_FLOW;
    return place == NO_FLOW ? NULL : &flows->list[place];
}

enum carry_capture_cause carry_flows_settle(const struct flows *flows,
                                            const struct carry_capture_finding *finding) {
    const struct flow *flow = finding_flow(flows, finding);
    return flow && flow_cause(flow) ? flow_cause(flow) : finding->cause;
}

bool carry_flows_may_change(const struct flows *flows,
                            const struct carry_capture_finding *finding) {
    const struct flow *flow = finding_flow(flows, finding);
    return flow && flow->shared;
}

/* Checks whether the flow's sums are counted as partial ones, which have another cause. */
static bool is_left_by_sender(const struct flow *flow, const struct header_senders *senders) {
    return holds_empty_headers(flow) &&
           carry_header_senders_leaves(senders, flow->key.ends.from.bytes);
}

void carry_flows_move(const struct flows *flows, const struct header_senders *senders,
                      uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]) {
    for (size_t i = 0; i < flows->count; i++) {
        const struct flow *flow = &flows->list[i];
        if (!flow_cause(flow) || is_left_by_sender(flow, senders))
            continue;
        uint64_t *of = causes[flow->key.protocol & ~EMPTY_HEADER];
        of[holds_empty_headers(flow) ? CARRY_CAPTURE_CAUSE_ZERO : CARRY_CAPTURE_CAUSE_NONE] -=
            flow->count - flow->one_bit - flow->twice;
        of[CARRY_CAPTURE_CAUSE_ONE_BIT] -= flow->one_bit;
        of[CARRY_CAPTURE_CAUSE_TWICE] -= flow->twice;
        of[flow_cause(flow)] += flow->count;
    }
}
