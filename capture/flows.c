/* SPDX-License-Identifier: MIT */
#include "flows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address_pairs.h"
#include "bytes.h"
#include "ends.h"
#include "others.h"
#include "seen.h"

#define BUCKETS_LOG2 9
#define NO_FLOW      UINT16_MAX
#define LAYOUTS_MAX  8

#define FLOWS_EXAMINED 16 /* candidates for replacement, of FLOWS_MAX */

#define IDENT_AT 4           /* in an IPv4 header */
#define LATER_NS 1000000000u /* the same packet is hardly ever captured again after this time */

#define MODULUS 65535u /* of ones'-complement numbers */

#define CONSTANT_AGREES 8 /* fewest changes of the right value: copies of one packet have none */

#define EMPTY_HEADER 0x10000u /* flag of key.protocol: IPv4 headers whose sums hold 0 */

struct key {
    struct ends ends;
    uint32_t protocol;
};

/* Numbers modulo 65535 that all bad sums of a flow may share. */
enum trait {
    TRAIT_DIFFERENCE, /* stored minus expected: a field was changed, and not the sum */
    TRAIT_VALUE,      /* stored: nothing computed it */
    TRAIT_REST,       /* stored minus the length: the sum of a pseudo-header, left to a card. For
                         empty headers: the next sum of the packet, minus length and protocol */
    TRAIT_COUNT
};

struct flow {
    struct key key;
    uint32_t traits[TRAIT_COUNT];
    uint32_t pair_rest;   /* address_rest() of the first sum */
    uint8_t shared;       /* a bit for each trait that all bad sums share; 0: refuted */
    uint16_t next;        /* the next flow of the bucket */
    uint64_t since;       /* number of the packet with the first bad sum that is counted */
    uint64_t last;        /* number of the last packet with a bad sum */
    uint64_t count;       /* bad sums */
    uint64_t one_bit;     /* how many of `count` one flipped bit explains */
    uint64_t twice;       /* how many of `count` a second computation explains */
    uint64_t changed;     /* how many of `count` show in their packets that an address changed */
    uint64_t with_header; /* how many of `count` have the same difference as another sum of their
                             packet; empty headers: how many have the sum of their content */
    uint64_t in_pair[SHARES_ALL + 1]; /* how many of `count` the pair counts, by pair_sum.shares */
    uint64_t sendings;    /* how many of `count` are not the previous packet captured again */
    uint64_t sent_ns;     /* the time of the last of `sendings` */
    uint32_t newest;      /* the right value of the last bad sum */
    uint64_t changes;     /* how often `newest` changed */
    struct seen expected; /* distinct values: a packet captured again adds no evidence */
    struct seen idents;   /* distinct identifications of IPv4 headers */
    struct seen lengths;
    struct header_key sender; /* the sender of empty headers */
};

/* The place of a flow's sums in a frame. In `sum`, only the members that determine this place are
   set. */
struct layout {
    uint32_t linktype;
    struct carry_packet_sum sum;
};

struct flows {
    uint64_t seed;
    size_t count;
    uint16_t hand; /* where the next search for a flow to replace begins */
    uint16_t *buckets;
    struct flow *list;
    struct address_pairs *pairs;
    struct others *others; /* of each flow; NULL: not kept */
    struct layout layouts[LAYOUTS_MAX];
    unsigned layouts_count;
    struct link_memory memory;
    bool has_others;  /* more layouts than fit: any packet may be part of a flow */
    uint16_t header;  /* flow of the IPv4 header added last; NO_FLOW: none, or already paired */
    uint32_t network; /* offset of that header in its packet */
};

struct flows *carry_flows_create(void) {
    return calloc(1, sizeof(struct flows));
}

void carry_flows_free(struct flows *flows) {
    if (!flows)
        return;
    carry_address_pairs_free(flows->pairs);
    free(flows->buckets);
    free(flows->list);
    free(flows->others);
    free(flows);
}

void carry_flows_clear(struct flows *flows) {
    if (flows->count) {
        memset(flows->buckets, 0xff, sizeof *flows->buckets << BUCKETS_LOG2);
        carry_address_pairs_clear(flows->pairs);
    }
    flows->count = 0;
    flows->hand = 0;
    flows->layouts_count = 0;
    flows->has_others = false;
    flows->header = NO_FLOW;
}

/* Allocates the tables only when the first flow is added: hardly any capture has one. */
static bool make_flow_table(struct flows *flows) {
    const size_t size = sizeof *flows->buckets << BUCKETS_LOG2;
    if (flows->list)
        return true;
    flows->buckets = malloc(size);
    flows->list = calloc(FLOWS_MAX, sizeof *flows->list);
    flows->pairs = carry_address_pairs_create();
    if (flows->buckets && flows->list && flows->pairs &&
        getentropy(&flows->seed, sizeof flows->seed) == 0) {
        memset(flows->buckets, 0xff, size);
        flows->header = NO_FLOW;
        return true;
    }
    carry_address_pairs_free(flows->pairs);
    free(flows->buckets);
    free(flows->list);
    flows->pairs = NULL;
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

/* Returns the bucket of a flow by the last words of its addresses, and its ports (0 if there are
   none). Uses multiply-shift hashing with a secret seed, as header_senders.c does. */
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

/* Checks whether the bucket for this frame holds a flow. Reads only the frame's bytes, because it
   is called for every packet. */
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

/* Returns the rarest of the next FLOWS_EXAMINED flows. Examines only a few: if each packet begins a
   flow, the table changes with every packet. */
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

/* Returns the stored value less length and protocol: the sum of the addresses, if the value is the
   sum of the pseudo-header. */
static uint32_t address_rest(const struct carry_packet_sum *sum) {
    return subtract_mod(subtract_mod(sum->stored, sum->pseudo_size), sum->pseudo_protocol);
}

static void find_traits(const struct carry_packet_sum *sum, uint32_t traits[TRAIT_COUNT]) {
    traits[TRAIT_DIFFERENCE] = carry_cause_difference(sum);
    traits[TRAIT_VALUE] = sum->stored % MODULUS;
    traits[TRAIT_REST] = subtract_mod(sum->stored, sum->pseudo_size);
}

/* Returns the traits that sums like this one may share. pair_with_empty() sets the traits of empty
   headers. */
static uint8_t possible_traits(const struct carry_packet_sum *sum) {
    if (carry_header_senders_is_alone(sum))
        return 1u << TRAIT_REST;
    return (uint8_t)(1u << TRAIT_DIFFERENCE | 1u << TRAIT_VALUE |
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

static void see_sum(struct flow *flow, const struct carry_packet_sum *sum) {
    flow->changes += flow->newest != sum->expected;
    flow->newest = sum->expected;
    see_value(&flow->expected, sum->expected);
    see_value(&flow->lengths, sum->pseudo_size);
}

/* Counts a sending, unless the packet may be the previous one captured a second time. */
static void see_sending(struct flow *flow, const struct carry_capture_packet *packet,
                        const struct carry_packet_sum *sum) {
    const uint8_t *ident = packet->data + sum->network_offset + IDENT_AT;
    const bool is_other = sum->version == 4 && see_value(&flow->idents, load16_network(ident));
    if (!is_other && packet->time_ns < flow->sent_ns + LATER_NS)
        return;
    flow->sendings++;
    flow->sent_ns = packet->time_ns;
}

/* Returns the flow of a sum, and creates it if it is new. Returns NULL if there is no memory. */
static struct flow *use_flow(struct flows *flows, const struct carry_frame *frame, uint64_t number,
                             const struct carry_packet_sum *sum) {
    const struct key key = flow_key(frame, sum);
    if (!make_flow_table(flows))
        return NULL;
    uint16_t place = find_flow(flows, &key);
    if (!(key.protocol & EMPTY_HEADER)) /* no good sum has the key of empty headers */
        add_layout(flows, frame->linktype, sum);
    if (place != NO_FLOW)
        return &flows->list[place];
    place = free_place(flows);
    uint16_t *bucket = flow_bucket(flows, &key);
    flows->list[place] = (struct flow){.key = key,
                                       .shared = possible_traits(sum),
                                       .pair_rest = address_rest(sum),
                                       .since = number,
                                       .next = *bucket};
    find_traits(sum, flows->list[place].traits);
    if (flows->others)
        flows->others[place].count = 0;
    *bucket = place;
    return &flows->list[place];
}

/* --- Sums --- */

/* Checks whether a flow may show the cause of a sum: no other cause is known, or only a flipped
   bit. A UDP sum that holds 0xffff may have been computed twice, or not computed but updated.
   A changed address is known already, but may also explain other sums of the flow. */
static bool is_unexplained(const struct carry_packet_sum *sum, unsigned cause) {
    return sum->verdict == CARRY_VERDICT_BAD &&
           (cause == CARRY_CAPTURE_CAUSE_NONE || cause == CARRY_CAPTURE_CAUSE_ONE_BIT ||
            cause == CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED ||
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

/* Checks whether sums of UDP share a stored value that nothing computed. Sums of one length may
   instead share the sum of a pseudo-header, which is hardly ever 0xffff. */
static bool is_none_updated(const struct flow *flow) {
    return flow->key.protocol == CARRY_PROTOCOL_UDP && shares(flow, TRAIT_VALUE) &&
           (flow->lengths.count > 1 || flow->traits[TRAIT_VALUE] == 0);
}

/* Checks whether the sums, or the sums that follow empty headers, depend only on the length. */
static bool depends_on_length(const struct flow *flow) {
    return shares(flow, TRAIT_REST) &&
           (!holds_empty_headers(flow) || flow->with_header == flow->count);
}

/* Checks for one value in all sums (the sum of a pseudo-header, or any other value), although the
   right value changed. */
static bool is_constant(const struct flow *flow) {
    return (depends_on_length(flow) || shares(flow, TRAIT_VALUE)) &&
           flow->changes >= CONSTANT_AGREES;
}

/* Returns the cause of sums that do not depend on contents. */
static enum carry_capture_cause cause_of_constant(const struct flow *flow) {
    if (is_none_updated(flow))
        return CARRY_CAPTURE_CAUSE_NONE_UPDATED;
    if (depends_on_length(flow) && flow->lengths.count > 1)
        return CARRY_CAPTURE_CAUSE_LEFT_THEN_CHANGED;
    return is_constant(flow) ? CARRY_CAPTURE_CAUSE_CONSTANT : CARRY_CAPTURE_CAUSE_NONE;
}

static enum carry_capture_cause flow_cause(const struct flow *flow) {
    if (flow->count < CARRY_CAPTURE_FLOW_AGREES)
        return CARRY_CAPTURE_CAUSE_NONE;
    if (shares(flow, TRAIT_DIFFERENCE))
        return flow->twice ? CARRY_CAPTURE_CAUSE_NONE : cause_of_difference(flow);
    return has_seen_enough(&flow->expected) ? cause_of_constant(flow) : CARRY_CAPTURE_CAUSE_NONE;
}

/*
 * Pairs an empty header with the sum over its content. The addresses alone determine the sum of a
 * pseudo-header without length and protocol, so all flows between these addresses share this rest.
 */
static void pair_with_empty(struct flow *header, const struct carry_packet_sum *sum) {
    const uint32_t rest = address_rest(sum);
    if (!header->with_header)
        header->traits[TRAIT_REST] = rest;
    if (header->traits[TRAIT_REST] != rest || !sum->pseudo)
        header->shared = 0;
    header->with_header++;
    see_sum(header, sum);
}

/* Pairs the sum of an IPv4 header with the next sum over its content: if both have the same
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
        see_sum(header, sum); /* the headers of one flow may all be equal */
        flow->with_header++;
    } else {
        return;
    }
    flows->header = NO_FLOW;
}

/* Remembers the sender of an empty header. If the flow has several senders, one of them may leave
   headers to its card, so the flow shows nothing. */
static void see_sender(struct flows *flows, struct flow *flow,
                       const struct carry_capture_packet *packet,
                       const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct header_key sender = carry_header_key(&flows->memory, &frame, sum);
    if (flow->count == 1)
        flow->sender = sender;
    else if (!carry_header_key_equal(&flow->sender, &sender))
        flow->shared = 0;
}

static void count_bad(struct flows *flows, struct flow *flow,
                      const struct carry_capture_packet *packet, const struct carry_packet_sum *sum,
                      enum carry_capture_cause cause) {
    flow->count++;
    flow->one_bit += cause == CARRY_CAPTURE_CAUSE_ONE_BIT;
    flow->twice += cause == CARRY_CAPTURE_CAUSE_TWICE;
    flow->changed += cause == CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED;
    if (holds_empty_headers(flow)) {
        see_sender(flows, flow, packet, sum);
        return;
    }
    compare_traits(flow, sum);
    see_sum(flow, sum);
    see_sending(flow, packet, sum);
}

/* --- Pairs of addresses --- */

/* Returns which of difference and rest a sum shares with the first sum of `flow`, or which of them
   it has if `flow` is NULL. A value that differs within a flow is not evidence across flows. */
static unsigned shares_with_first(const struct flow *flow, const struct carry_packet_sum *sum) {
    const bool difference = !flow || flow->traits[TRAIT_DIFFERENCE] == carry_cause_difference(sum);
    const bool rest = sum->pseudo && (!flow || flow->pair_rest == address_rest(sum));
    return (difference ? SHARES_DIFFERENCE : 0) | (rest ? SHARES_REST : 0);
}

/* Describes a sum for carry_address_pairs_cause(); it shares nothing if its own packet shows
   another cause than a changed address. */
static struct pair_sum pair_sum_of(const struct flow *flow, const struct ends *ends,
                                   uint64_t number, const struct carry_packet_sum *sum,
                                   enum carry_capture_cause cause) {
    const bool has_evidence =
        cause == CARRY_CAPTURE_CAUSE_NONE || cause == CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED;
    return (struct pair_sum){
        .ends = ends,
        .number = number,
        .protocol = sum->protocol,
        .difference = carry_cause_difference(sum),
        .rest = address_rest(sum),
        .shares = has_evidence ? shares_with_first(flow, sum) : 0,
    };
}

static void add_to_pair(struct flows *flows, struct flow *flow, const struct pair_sum *own,
                        const struct carry_packet_sum *sum, enum carry_capture_cause cause) {
    const struct pair_evidence evidence = {
        .expected = sum->expected,
        .length = sum->pseudo_size,
        .is_known = cause == CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED,
    };
    if (!own->shares)
        return;
    carry_address_pairs_add(flows->pairs, own, &evidence);
    flow->in_pair[own->shares] += !evidence.is_known;
}

/* Returns the cause of a sum by its own packet, the pair of its addresses, or its flow. */
static enum carry_capture_cause pick_cause(const struct flows *flows, const struct pair_sum *sum,
                                           enum carry_capture_cause own,
                                           enum carry_capture_cause of_flow) {
    if (own == CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED)
        return own;
    const enum carry_capture_cause of_pair = carry_address_pairs_cause(flows->pairs, sum);
    if (of_pair)
        return of_pair;
    return of_flow ? of_flow : own;
}

/* --- Adding sums --- */

static enum carry_capture_cause add_bad(struct flows *flows,
                                        const struct carry_capture_packet *packet, uint64_t number,
                                        const struct carry_packet_sum *sum,
                                        enum carry_capture_cause cause) {
    const struct carry_frame frame = carry_capture_frame(packet);
    struct flow *flow = use_flow(flows, &frame, number, sum);
    if (!flow)
        return cause;
    const enum carry_capture_cause before = flow_cause(flow);
    const struct pair_sum own = pair_sum_of(flow, &flow->key.ends, number, sum, cause);
    flow->last = number;
    count_bad(flows, flow, packet, sum, cause);
    add_to_pair(flows, flow, &own, sum, cause);
    pair_with_header(flows, flow, sum);
    if (flows->others)
        carry_others_add(&flows->others[flow - flows->list], number, sum);
    /* An empty header shows its cause only with the sum of its content, which is added later. */
    const enum carry_capture_cause now = holds_empty_headers(flow) ? before : flow_cause(flow);
    return pick_cause(flows, &own, cause, now);
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
   another place on its way, and contradicts nothing. */
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

static struct ends finding_ends(const struct carry_capture_finding *finding) {
    return (struct ends){.from = finding->from,
                         .to = finding->to,
                         .from_port = finding->from_port,
                         .to_port = finding->to_port};
}

static const struct flow *finding_flow(const struct flows *flows,
                                       const struct carry_capture_finding *finding) {
    const struct key key = {.ends = finding_ends(finding), .protocol = key_protocol(&finding->sum)};
    const uint16_t place =
        carry_flows_keeps(&finding->sum, finding->cause) ? find_flow(flows, &key) : NO_FLOW;
    return place == NO_FLOW || flows->list[place].since > finding->number ? NULL
                                                                          : &flows->list[place];
}

enum carry_capture_cause carry_flows_settle(const struct flows *flows,
                                            const struct carry_capture_finding *finding) {
    const struct flow *flow = finding_flow(flows, finding);
    const struct ends ends = finding_ends(finding);
    if (!flows->count || !carry_flows_keeps(&finding->sum, finding->cause))
        return finding->cause;
    const struct pair_sum own =
        pair_sum_of(flow, &ends, finding->number, &finding->sum, finding->cause);
    return pick_cause(flows, &own, finding->cause,
                      flow ? flow_cause(flow) : CARRY_CAPTURE_CAUSE_NONE);
}

bool carry_flows_keep_others(struct flows *flows) {
    flows->others = calloc(FLOWS_MAX, sizeof *flows->others);
    return flows->others;
}

/* Checks whether two different flows have the same addresses and the same protocol. */
static bool has_same_addresses(const struct flow *a, const struct flow *b) {
    return a != b && a->key.protocol == b->key.protocol &&
           memcmp(&a->key.ends.from, &b->key.ends.from, sizeof a->key.ends.from) == 0 &&
           memcmp(&a->key.ends.to, &b->key.ends.to, sizeof a->key.ends.to) == 0;
}

size_t carry_flows_others(const struct flows *flows, const struct carry_capture_finding *finding,
                          struct carry_capture_other list[CARRY_CAPTURE_OTHERS], uint64_t *total) {
    const struct flow *own = finding_flow(flows, finding);
    size_t count = 0;
    *total = own ? own->count - 1 : 0;
    if (!own)
        return 0;
    if (own->count > 1)
        return carry_others_append(&flows->others[own - flows->list], finding->number, list, 0);
    for (size_t i = 0; i < flows->count; i++)
        if (has_same_addresses(&flows->list[i], own)) {
            count = carry_others_append(&flows->others[i], finding->number, list, count);
            *total += flows->list[i].count;
        }
    return count;
}

/* Later packets may show a cause, or refute it, in the finding's flow or in a pair of addresses. */
bool carry_flows_may_change(const struct flows *flows,
                            const struct carry_capture_finding *finding) {
    const struct flow *flow = finding_flow(flows, finding);
    if (!carry_flows_keeps(&finding->sum, finding->cause))
        return false;
    return finding->cause == CARRY_CAPTURE_CAUSE_NONE ||
           (flow && flow->shared && finding->cause != CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED);
}

/* Checks whether the flow's sums count as partial sums, which have another cause. */
static bool is_left_by_sender(const struct flow *flow, const struct header_senders *senders) {
    return holds_empty_headers(flow) && carry_header_senders_leaves(senders, &flow->sender);
}

/* Returns how many sums of the flow are counted for the pair of their addresses instead. */
static uint64_t count_explained_by_pair(const struct flows *flows, const struct flow *flow) {
    uint64_t count = 0;
    for (unsigned shares = 1; shares <= SHARES_ALL; shares++) {
        const struct pair_sum sum = {.ends = &flow->key.ends,
                                     .number = flow->last,
                                     .protocol = flow->key.protocol,
                                     .difference = flow->traits[TRAIT_DIFFERENCE],
                                     .rest = flow->pair_rest,
                                     .shares = shares};
        if (carry_address_pairs_cause(flows->pairs, &sum))
            count += flow->in_pair[shares];
    }
    return count;
}

static void move_flow(const struct flows *flows, const struct flow *flow,
                      uint64_t of[CARRY_CAPTURE_CAUSE_COUNT]) {
    const uint64_t moved = flow->count - flow->changed - count_explained_by_pair(flows, flow);
    of[holds_empty_headers(flow) ? CARRY_CAPTURE_CAUSE_ZERO : CARRY_CAPTURE_CAUSE_NONE] -=
        moved - flow->one_bit - flow->twice;
    of[CARRY_CAPTURE_CAUSE_ONE_BIT] -= flow->one_bit;
    of[CARRY_CAPTURE_CAUSE_TWICE] -= flow->twice;
    of[flow_cause(flow)] += moved;
}

void carry_flows_move(const struct flows *flows, const struct header_senders *senders,
                      uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]) {
    for (size_t i = 0; i < flows->count; i++) {
        const struct flow *flow = &flows->list[i];
        if (flow_cause(flow) && !is_left_by_sender(flow, senders))
            move_flow(flows, flow, causes[flow->key.protocol & ~EMPTY_HEADER]);
    }
    if (flows->count)
        carry_address_pairs_move(flows->pairs, causes);
}
