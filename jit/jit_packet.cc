/* SPDX-License-Identifier: MIT */
/* Plans packet functions: computes what a function compares, follows and sums for a stack. */
#include "jit_packet.h"

#include <initializer_list>

namespace carry::jit {
namespace {

constexpr uint32_t ALL_FLAGS = CARRY_JIT_FILL;
constexpr uint32_t NOTHING = CARRY_PROTOCOL_COUNT; /* follows the last layer */

/* --- The numbers that announce protocols, from protocols.def --- */

enum class Space { NONE, LINK, ETHERTYPE, IP, UDP, ICMP };

struct Key {
    Space space;
    uint32_t number;
};

#define CARRY_PROTOCOL(id, name, keys) {keys},
#define CARRY_ON_LINK(number)          {Space::LINK, number},
#define CARRY_ON_ETHERTYPE(number)     {Space::ETHERTYPE, number},
#define CARRY_ON_IP(number)            {Space::IP, number},
#define CARRY_ON_UDP(number)           {Space::UDP, number},
#define CARRY_ON_ICMP(number)          {Space::ICMP, number},
/* By protocol; unused keys of a row have Space::NONE. */
constexpr Key keys_of[CARRY_PROTOCOL_COUNT][5] = {
#include <carry/protocols.def>
};
#undef CARRY_PROTOCOL
#undef CARRY_ON_LINK
#undef CARRY_ON_ETHERTYPE
#undef CARRY_ON_IP
#undef CARRY_ON_UDP
#undef CARRY_ON_ICMP

constexpr size_t count_keys(Space space) {
    size_t count = 0;
    for (const auto &keys : keys_of)
        for (const Key &key : keys)
            count += key.space == space;
    return count;
}
static_assert(count_keys(Space::UDP) <= TunnelPorts::CAPACITY, "all tunnels are told by port");

template <typename Number, size_t N>
void add_keys(List<Number, N> &numbers, Space space, uint32_t protocol) {
    for (const Key &key : keys_of[protocol])
        if (key.space == space)
            numbers.add(static_cast<Number>(key.number));
}

TunnelPorts list_tunnel_ports() {
    TunnelPorts ports;
    for (uint32_t protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        add_keys(ports, Space::UDP, protocol);
    return ports;
}

/* --- Protocols: one function for each --- */

/* The current header of a stack that is being planned. */
struct Place {
    PacketPlan &plan;
    uint32_t at;      /* the offset of the header */
    uint32_t next;    /* the protocol of the header that follows, or NOTHING */
    uint32_t network; /* the offset of the innermost IP header */
    uint8_t version;  /* the version of that header, or 0 */
};

void match_bytes(Place &place, uint32_t offset, std::initializer_list<uint8_t> values,
                 uint8_t mask = 0xff) {
    for (uint8_t value : values)
        place.plan.matches.add({place.at + offset++, mask, value});
}

/* Requires that `size` bytes hold a number. */
void match_number(Place &place, uint32_t offset, uint32_t size, uint32_t number) {
    for (uint32_t i = 0; i < size; i++)
        match_bytes(place, offset + i, {static_cast<uint8_t>(number >> 8 * (size - 1 - i))});
}

void match_choice(Place &place, const Choice &choice) {
    if (choice.numbers.count == 1)
        match_number(place, choice.offset - place.at, choice.size, choice.numbers[0]);
    else
        place.plan.choices.add(choice);
}

/* Requires that the bytes at `offset` announce the next protocol. Returns false if no number
   announces it. */
bool announce_next(Place &place, uint32_t offset, uint32_t size, Space space) {
    if (place.next == NOTHING)
        return false;
    Choice choice = {place.at + offset, size, {}};
    add_keys(choice.numbers, space, place.next);
    if (choice.numbers.count)
        match_choice(place, choice);
    return choice.numbers.count;
}

bool plan_ethernet(Place &place) {
    return announce_next(place, 12, 2, Space::ETHERTYPE);
}

bool plan_vlan(Place &place) {
    return announce_next(place, 2, 2, Space::ETHERTYPE);
}

bool plan_sll(Place &place) {
    return announce_next(place, 14, 2, Space::ETHERTYPE);
}

bool plan_sll2(Place &place) {
    return announce_next(place, 0, 2, Space::ETHERTYPE);
}

bool plan_raw(Place &place) {
    return place.next == CARRY_PROTOCOL_IP || place.next == CARRY_PROTOCOL_IPV6;
}

/* Requires an address family, in either byte order: see carry_walk_family(). */
bool plan_loopback(Place &place) {
    Choice choice = {place.at, 4, {}};
    if (place.next == CARRY_PROTOCOL_IP)
        choice.numbers = {{2, 2u << 24}, 2};
    else if (place.next == CARRY_PROTOCOL_IPV6)
        choice.numbers = {{10, 24, 28, 30, 10u << 24, 24u << 24, 28u << 24, 30u << 24}, 8};
    else
        return false;
    match_choice(place, choice);
    return true;
}

struct carry_packet_sum sum_of(const Place &place, uint8_t protocol, uint32_t field) {
    struct carry_packet_sum sum = {};
    sum.protocol = protocol;
    sum.verdict = CARRY_VERDICT_GOOD;
    sum.version = place.version;
    sum.field_size = 2;
    sum.field_offset = place.at + field;
    sum.network_offset = place.network;
    sum.cover_offset = place.at;
    return sum;
}

/* Adds a sum over the content of the innermost IP header; it has a pseudo-header unless
   `pseudo_protocol` is 0. */
PlannedSum &add_sum(Place &place, uint8_t protocol, uint32_t field, uint8_t pseudo_protocol) {
    List<PlannedSum, SUMS_MAX> &sums = place.plan.sums;
    PlannedSum sum = {};
    sum.found = sum_of(place, protocol, field);
    sum.found.pseudo_protocol = pseudo_protocol;
    sum.length = place.plan.lengths.count - 1;
    sum.addresses = place.network + (place.version == 4 ? 12 : 8);
    sums.add(sum);
    return sums.items[sums.count - 1];
}

/* Accepts headers without options, and no fragments. */
bool plan_ip(Place &place) {
    place.network = place.at;
    place.version = 4;
    place.plan.lengths.add({place.at + 2, place.at});
    PlannedSum &sum = add_sum(place, CARRY_PROTOCOL_IP, 10, 0);
    sum.over_header = true;
    sum.found.cover_size = 20;
    match_bytes(place, 0, {0x45});
    match_bytes(place, 6, {0}, 0x3f);
    match_bytes(place, 7, {0});
    return announce_next(place, 9, 1, Space::IP);
}

bool plan_ipv6(Place &place) {
    place.network = place.at;
    place.version = 6;
    place.plan.lengths.add({place.at + 4, place.at + 40});
    match_bytes(place, 0, {0x60}, 0xf0);
    return announce_next(place, 6, 1, Space::IP);
}

bool plan_tcp(Place &place) {
    add_sum(place, CARRY_PROTOCOL_TCP, 16, 6);
    return place.next == NOTHING;
}

bool plan_udp(Place &place) {
    Ports ports = {place.at, {}};
    bool is_tunnel = place.next != NOTHING;
    if (is_tunnel)
        add_keys(ports.tunnel, Space::UDP, place.next);
    place.plan.ports.add(ports);
    place.plan.lengths.add({place.at + 4, place.at});
    PlannedSum &sum = add_sum(place, CARRY_PROTOCOL_UDP, 6, 17);
    sum.may_be_absent = is_tunnel || place.version == 4;
    sum.zero_is_illegal = !sum.may_be_absent;
    return !is_tunnel || ports.tunnel.count;
}

/* Accepts echo and its reply only: the walk examines the packets that errors quote. */
bool plan_icmp(Place &place) {
    add_sum(place, CARRY_PROTOCOL_ICMP, 2, 0);
    match_bytes(place, 0, {0}, static_cast<uint8_t>(~8));
    return place.next == NOTHING;
}

/* Accepts types 128 to 143, such as echo and the discovery of neighbours and listeners. */
bool plan_icmpv6(Place &place) {
    add_sum(place, CARRY_PROTOCOL_ICMPV6, 2, 58);
    match_bytes(place, 0, {0x80}, 0xf0);
    return place.version == 6 && place.next == NOTHING;
}

bool plan_gre(Place &place) {
    match_bytes(place, 0, {0, 0});
    return announce_next(place, 2, 2, Space::ETHERTYPE);
}

bool plan_vxlan(Place &place) {
    match_bytes(place, 0, {0x08, 0, 0, 0});
    match_bytes(place, 7, {0});
    return place.next == CARRY_PROTOCOL_ETHERNET;
}

bool plan_geneve(Place &place) {
    match_bytes(place, 0, {0});
    match_bytes(place, 1, {0}, 0x3f);
    bool announced = announce_next(place, 2, 2, Space::ETHERTYPE);
    match_bytes(place, 7, {0});
    return announced;
}

struct Row {
    uint8_t protocol;
    uint8_t size;               /* size of its header */
    bool (*plan)(Place &place); /* returns false if the next protocol cannot follow */
};

constexpr Row rows[] = {
    {CARRY_PROTOCOL_ETHERNET, 14, plan_ethernet},
    {CARRY_PROTOCOL_VLAN, 4, plan_vlan},
    {CARRY_PROTOCOL_SLL, 16, plan_sll},
    {CARRY_PROTOCOL_SLL2, 20, plan_sll2},
    {CARRY_PROTOCOL_RAW, 0, plan_raw},
    {CARRY_PROTOCOL_LOOPBACK, 4, plan_loopback},
    {CARRY_PROTOCOL_IP, 20, plan_ip},
    {CARRY_PROTOCOL_IPV6, 40, plan_ipv6},
    {CARRY_PROTOCOL_TCP, 20, plan_tcp},
    {CARRY_PROTOCOL_UDP, 8, plan_udp},
    {CARRY_PROTOCOL_ICMP, 8, plan_icmp},
    {CARRY_PROTOCOL_ICMPV6, 8, plan_icmpv6},
    {CARRY_PROTOCOL_GRE, 4, plan_gre},
    {CARRY_PROTOCOL_VXLAN, 8, plan_vxlan},
    {CARRY_PROTOCOL_GENEVE, 8, plan_geneve},
};

const Row *row_of(uint32_t protocol) {
    for (const Row &row : rows)
        if (row.protocol == protocol)
            return &row;
    return nullptr;
}

/* --- Stacks --- */

/* Returns whether frames of the link type begin with this protocol. */
bool links_to(uint32_t linktype, uint32_t protocol) {
    for (const Key &key : keys_of[protocol])
        if (key.space == Space::LINK && key.number == linktype)
            return true;
    return false;
}

/* Plans a stack. Returns false if no generator supports the stack, or if no frame can have it. */
bool plan_stack(PacketPlan &plan, const struct carry_jit_packet_spec &spec) {
    Place place = {plan, 0, NOTHING, 0, 0};
    plan.linktype = spec.linktype;
    plan.flags = spec.flags;
    if (!links_to(spec.linktype, spec.layers[0]))
        return false;
    for (uint32_t i = 0; i < spec.count; i++) {
        const Row *row = row_of(spec.layers[i]);
        place.next = i + 1 < spec.count ? spec.layers[i + 1] : NOTHING;
        if (!row || !row->plan(place))
            return false;
        place.at += row->size;
    }
    plan.size = place.at;
    return true;
}

std::string name_packet(const struct carry_jit_packet_spec &spec) {
    std::string name = spec.flags & CARRY_JIT_FILL ? "carry_jit_fill" : "carry_jit_check";
    for (uint32_t i = 0; i < spec.count; i++)
        name += std::string("_") + carry_packet_protocol_name(spec.layers[i]);
    return name;
}

/* --- The shape of a frame, without a function --- */

uint32_t number_at(const uint8_t *bytes, uint32_t size) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

template <typename Number, size_t N>
bool has_number(const List<Number, N> &numbers, uint32_t number) {
    for (Number one : numbers)
        if (one == number)
            return true;
    return false;
}

bool has_ports(const Ports &ports, const uint8_t *data) {
    uint32_t source = number_at(data + ports.offset, 2);
    uint32_t destination = number_at(data + ports.offset + 2, 2);
    uint32_t used_port = has_number(tunnel_ports(), destination) ? destination : source;
    return ports.tunnel.count ? has_number(ports.tunnel, used_port)
                              : !has_number(tunnel_ports(), used_port);
}

bool has_shape(const PacketPlan &plan, const struct carry_frame &frame) {
    const uint8_t *data = static_cast<const uint8_t *>(frame.data);
    if (frame.linktype != plan.linktype || frame.captured < plan.size)
        return false;
    for (const Match &match : plan.matches)
        if ((data[match.offset] & match.mask) != match.value)
            return false;
    for (const Choice &choice : plan.choices)
        if (!has_number(choice.numbers, number_at(data + choice.offset, choice.size)))
            return false;
    for (const Ports &ports : plan.ports)
        if (!has_ports(ports, data))
            return false;
    return true;
}

} // namespace

size_t PacketPlan::count_around() const {
    size_t around = 0;
    for (size_t i = 0; i < sums.count; i++)
        around += is_around(i);
    return around;
}

size_t PacketPlan::transports_within(size_t index) const {
    size_t within = 0;
    for (size_t i = index + 1; i < sums.count; i++)
        within += sums[i].found.pseudo_protocol != 0;
    return within;
}

MatchGroup PacketPlan::next_group(const Match *&match) const {
    const Match *first = match;
    while (match != matches.end() && match->offset < first->offset + 8)
        match++;
    uint32_t used = match[-1].offset - first->offset + 1;
    MatchGroup group = {first->offset, used > 4 ? 8u : used > 2 ? 4u : used, 0, 0};
    if (group.offset + group.size > size)
        group.offset = size - group.size;
    for (const Match *one = first; one != match; one++) {
        uint32_t shift = 8 * (one->offset - group.offset);
        group.mask |= static_cast<uint64_t>(one->mask) << shift;
        group.value |= static_cast<uint64_t>(one->value) << shift;
    }
    return group;
}

const TunnelPorts &tunnel_ports() {
    static const TunnelPorts ports = list_tunnel_ports();
    return ports;
}

} // namespace carry::jit

const char *carry_jit_packet_error(const struct carry_jit_packet_spec *spec) {
    using namespace carry::jit;
    if (spec->flags & ~ALL_FLAGS)
        return "flags: unknown flag";
    if (spec->count == 0 || spec->count > CARRY_JIT_LAYERS_MAX)
        return "count: not from 1 to CARRY_JIT_LAYERS_MAX";
    for (uint32_t i = 0; i < CARRY_JIT_LAYERS_MAX; i++) {
        if (i < spec->count && spec->layers[i] >= CARRY_PROTOCOL_COUNT)
            return "layers: unknown protocol";
        if (i >= spec->count && spec->layers[i])
            return "layers: not 0 beyond count";
    }
    if (!links_to(spec->linktype, spec->layers[0]))
        return "linktype: not that of the first layer";
    for (uint32_t word : spec->reserved)
        if (word)
            return "reserved: not 0";
    return nullptr;
}

int carry_jit_packet(const struct carry_jit_packet_spec *spec, const struct carry_jit **jit) {
    using namespace carry::jit;
    if (carry_jit_packet_error(spec))
        return CARRY_ERROR_INVALID;
    PacketPlan plan;
    if (!plan_stack(plan, *spec))
        return CARRY_ERROR_UNSUPPORTED;
    int error = plan_packet(plan);
    if (error)
        return error;
    return catch_no_memory([&] {
        std::string key =
            "packet" + bytes_of(*spec) + bytes_of(plan.vector_bits) + bytes_of(plan.features);
        return obtain_code(key, name_packet(*spec), emit_packet, &plan, jit);
    });
}

int carry_jit_packet_shape(const struct carry_frame *frame, struct carry_jit_packet_spec *spec) {
    using namespace carry::jit;
    struct carry_packet_layer layers[CARRY_JIT_LAYERS_MAX + 1];
    struct carry_jit_packet_spec shape = {};
    size_t count = carry_packet_layers(frame, nullptr, layers, CARRY_JIT_LAYERS_MAX + 1);
    if (count == 0 || count > CARRY_JIT_LAYERS_MAX)
        return CARRY_ERROR_UNSUPPORTED;
    shape.linktype = frame->linktype;
    shape.count = static_cast<uint32_t>(count);
    for (size_t i = 0; i < count; i++)
        shape.layers[i] = static_cast<uint8_t>(layers[i].protocol);
    PacketPlan plan;
    if (!plan_stack(plan, shape) || !has_shape(plan, *frame))
        return CARRY_ERROR_UNSUPPORTED;
    shape.flags = spec->flags;
    *spec = shape;
    return CARRY_OK;
}
