/* SPDX-License-Identifier: MIT */
/*
 * The plan of a packet function: the bytes to compare, lengths to follow and sums to compute for a
 * stack of headers; and the interface of each architecture's generator.
 */
#ifndef CARRY_JIT_PACKET_H
#define CARRY_JIT_PACKET_H

#include "code.h"

namespace carry::jit {

/* A short array with a count of the used items. */
template <typename T, size_t N> struct List {
    static constexpr size_t CAPACITY = N;

    T items[N];
    uint32_t count = 0;

    void add(const T &item) {
        if (count < N)
            items[count++] = item;
    }
    const T *begin() const {
        return items;
    }
    const T *end() const {
        return items + count;
    }
    const T &operator[](size_t i) const {
        return items[i];
    }
};

/* A byte whose bits in `mask` must equal the bits of `value`. */
struct Match {
    uint32_t offset;
    uint8_t mask, value;
};

using Numbers = List<uint32_t, 8>;

/* Bytes that must hold one of several numbers, in network order. */
struct Choice {
    uint32_t offset, size; /* 2 or 4 bytes */
    Numbers numbers;
};

/*
 * The ports of a UDP header. The walk uses the destination port, or the source port if the
 * destination port announces no tunnel. The port that the walk uses must be one of `tunnel`. If
 * `tunnel` is empty, it must not be the port of a tunnel.
 */
struct Ports {
    uint32_t offset; /* of the source port; the destination port follows */
    Numbers tunnel;
};

using TunnelPorts = List<uint16_t, 32>;

/* A length field of 16 bits: the bytes that it measures end at the offset base + length in the
   frame. */
struct Length {
    uint32_t offset, base;
};

struct PlannedSum {
    struct carry_packet_sum found; /* only the members that are the same in every frame */
    bool over_header;              /* IPv4's: covers IPV4_HEADER_BYTES, regardless of the lengths */
    bool may_be_absent;            /* a stored 0 means absent */
    bool zero_is_illegal;
    uint32_t length;    /* index of the length that ends the covered bytes */
    uint32_t addresses; /* offset of the addresses in its pseudo-header */
};

constexpr uint32_t SUMS_MAX = CARRY_JIT_LAYERS_MAX;

constexpr uint32_t IPV4_HEADER_BYTES = 20; /* without options */

/* The largest length of 16 bits, plus the 40 bytes of an IPv6 header. */
constexpr uint32_t CONTENT_MAX = 65535 + 40;

/* Up to 8 bytes that are compared at once, as a little-endian number. */
struct MatchGroup {
    uint32_t offset, size;
    uint64_t mask, value;
};

/* Returns the result of a little-endian load from a frame that holds `number` in network order. */
inline uint32_t loaded(uint32_t number, uint32_t size) {
    return __builtin_bswap32(number) >> 8 * (4 - size);
}

/* All that a function checks, from outer to inner. */
struct PacketPlan {
    uint32_t linktype, flags;
    uint32_t size;        /* of all headers */
    uint32_t vector_bits; /* of the vectors that sum */
    uint64_t features;    /* of this CPU, as bits that the generator defines */
    List<Match, 8 * CARRY_JIT_LAYERS_MAX> matches; /* by ascending offsets */
    List<Choice, CARRY_JIT_LAYERS_MAX> choices;
    List<Ports, CARRY_JIT_LAYERS_MAX> ports;
    List<Length, CARRY_JIT_LAYERS_MAX>
        lengths;                     /* each ends within the bytes that the previous one measures */
    List<PlannedSum, SUMS_MAX> sums; /* the last one is the innermost header's */

    size_t innermost() const {
        return sums.count - 1;
    }
    /* Returns the offset of the bytes that the innermost sum covers. */
    uint32_t content() const {
        return sums[innermost()].found.cover_offset;
    }
    /* Returns whether the sum is a UDP sum around a tunnel. */
    bool is_around(size_t index) const {
        return !sums[index].over_header && index != innermost();
    }
    size_t count_around() const;

    /* Returns how many of the sums after sum `index`, which are further in, have pseudo-headers. */
    size_t transports_within(size_t index) const;

    /* Returns a group of matches, from `match` on: as many as one load within the headers can
       compare. Sets `match` to the first match after the group. */
    MatchGroup next_group(const Match *&match) const;
};

/* Returns all ports that announce a tunnel. */
const TunnelPorts &tunnel_ports();

/*
 * Sets vector_bits and features by carry_cpu_has(). Returns 0 or CARRY_ERROR_UNSUPPORTED. Each
 * architecture defines this function and emit_packet() in jit/<arch>/packet.cc.
 */
int plan_packet(PacketPlan &plan);
Emit emit_packet; /* its spec is a PacketPlan */

} // namespace carry::jit

#endif
