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

struct key {
    struct ends ends;
    uint32_t protocol;
};

struct flow {
    struct key key;
    uint32_t difference;
    bool refuted;
    uint16_t next;        /* of the same bucket */
    uint64_t last;        /* packet with a bad sum */
    uint64_t count;       /* bad sums */
    uint64_t one_bit;     /* of these, those that one flipped bit explains */
    uint64_t with_header; /* of these, those with the same difference as another sum of the same
                             packet */
    uint32_t seen[CARRY_CAPTURE_FLOW_AGREES]; /* distinct expected values: a repeated packet is
                                                 no */
    unsigned seen_count;                      /* further evidence */
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

static struct key flow_key(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    return (struct key){.ends = carry_ends_of(frame, sum), .protocol = sum->protocol};
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
    return a->refuted != b->refuted ? a->refuted : a->count < b->count;
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

/* Returns the flow of a sum, which is created if it is new; NULL if there is no memory. */
static struct flow *use_flow(struct flows *flows, const struct carry_frame *frame,
                             const struct carry_packet_sum *sum) {
    const struct key key = flow_key(frame, sum);
    if (!make_flow_table(flows))
        return NULL;
    uint16_t place = find_flow(flows, &key);
    add_layout(flows, frame->linktype, sum);
    if (place != NO_FLOW)
        return &flows->list[place];
    place = free_place(flows);
    uint16_t *bucket = flow_bucket(flows, &key);
    flows->list[place] =
        (struct flow){.key = key, .difference = carry_cause_difference(sum), .next = *bucket};
    *bucket = place;
    return &flows->list[place];
}

/* --- Sums --- */

/* Checks whether a flow may show the cause: no other cause is known, or only a flipped bit. */
static bool is_unexplained(unsigned verdict, unsigned cause) {
    return verdict == CARRY_VERDICT_BAD &&
           (cause == CARRY_CAPTURE_CAUSE_NONE || cause == CARRY_CAPTURE_CAUSE_ONE_BIT);
}

bool carry_flows_keeps(const struct carry_packet_sum *sum, unsigned cause) {
    return is_unexplained(sum->verdict, cause) && sum->field_size == 2 && sum->version &&
           !sum->quoted;
}

static enum carry_capture_cause flow_cause(const struct flow *flow) {
    if (flow->refuted || flow->count < CARRY_CAPTURE_FLOW_AGREES ||
        flow->seen_count < CARRY_CAPTURE_FLOW_AGREES)
        return CARRY_CAPTURE_CAUSE_NONE;
    return flow->with_header == flow->count ? CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED
                                            : CARRY_CAPTURE_CAUSE_REWRITTEN;
}

static void see_expected(struct flow *flow, uint32_t expected) {
    for (unsigned i = 0; i < flow->seen_count; i++)
        if (flow->seen[i] == expected)
            return;
    if (flow->seen_count < CARRY_CAPTURE_FLOW_AGREES)
        flow->seen[flow->seen_count++] = expected;
}

/* Pairs the sum of an IPv4 header with the next one over its content: if both have the same
   difference, an address was changed. */
static void pair_with_header(struct flows *flows, struct flow *flow,
                             const struct carry_packet_sum *sum) {
    struct flow *header = flows->header == NO_FLOW ? NULL : &flows->list[flows->header];
    if (sum->protocol == CARRY_PROTOCOL_IP) {
        flows->header = (uint16_t)(flow - flows->list);
        flows->network = sum->network_offset;
    } else if (header && header->last == flow->last && flows->network == sum->network_offset &&
               header->difference == carry_cause_difference(sum)) {
        header->with_header++;
        see_expected(header, sum->expected); /* headers of one flow may all be the same */
        flow->with_header++;
        flows->header = NO_FLOW;
    }
}

static enum carry_capture_cause add_bad(struct flows *flows, const struct carry_frame *frame,
                                        uint64_t number, const struct carry_packet_sum *sum,
                                        enum carry_capture_cause cause) {
    struct flow *flow = use_flow(flows, frame, sum);
    if (!flow)
        return cause;
    flow->last = number;
    flow->count++;
    flow->one_bit += cause == CARRY_CAPTURE_CAUSE_ONE_BIT;
    flow->refuted |= flow->difference != carry_cause_difference(sum);
    see_expected(flow, sum->expected);
    pair_with_header(flows, flow, sum);
    return flow_cause(flow) ? flow_cause(flow) : cause;
}

/* Refutes the flow of a good sum, unless no bad sum had its layout: then the packet was captured at
   another place on the way, and contradicts nothing. */
static void add_good(struct flows *flows, const struct carry_frame *frame,
                     const struct carry_packet_sum *sum) {
    const struct layout layout = sum_layout(frame->linktype, sum);
    const struct key key = flow_key(frame, sum);
    const uint16_t place = find_flow(flows, &key);
    if (place != NO_FLOW && knows_layout(flows, &layout))
        flows->list[place].refuted = true;
}

enum carry_capture_cause carry_flows_add(struct flows *flows, const struct carry_frame *frame,
                                         uint64_t number, const struct carry_packet_sum *sum,
                                         enum carry_capture_cause cause) {
    if (sum->verdict == CARRY_VERDICT_GOOD)
        add_good(flows, frame, sum);
    return carry_flows_keeps(sum, cause) ? add_bad(flows, frame, number, sum, cause) : cause;
}

static bool may_refute(const struct flows *flows, const struct carry_frame *frame, uint64_t number,
                       const struct layout *layout) {
    if (layout->linktype != frame->linktype || !may_be_known(flows, frame, &layout->sum))
        return false;
    const struct key key = flow_key(frame, &layout->sum);
    const uint16_t place = find_flow(flows, &key);
    return place != NO_FLOW && !flows->list[place].refuted && flows->list[place].last != number;
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
                            .protocol = finding->sum.protocol};
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
    return flow && !flow->refuted;
}

void carry_flows_move(const struct flows *flows, uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]) {
    for (size_t i = 0; i < flows->count; i++) {
        const struct flow *flow = &flows->list[i];
        if (!flow_cause(flow))
            continue;
        uint64_t *of = causes[flow->key.protocol];
        of[CARRY_CAPTURE_CAUSE_NONE] -= flow->count - flow->one_bit;
        of[CARRY_CAPTURE_CAUSE_ONE_BIT] -= flow->one_bit;
        of[flow_cause(flow)] += flow->count;
    }
}
