/* SPDX-License-Identifier: MIT */
/*
 * What the generators of packet functions share: a stack of headers worked out into bytes to
 * compare, lengths to follow and sums to take, and one generator per architecture.
 */
#ifndef CARRY_JIT_PACKET_H
#define CARRY_JIT_PACKET_H

#include "code.h"

namespace carry::jit {

/* A short array that knows how many of its places are used. */
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

/* A byte of which the bits in `mask` are those of `value`. */
struct Match {
    uint32_t offset;
    uint8_t mask, value;
};

using Numbers = List<uint32_t, 8>;

/* Bytes that hold one of several numbers, in network order. */
struct Choice {
    uint32_t offset, size; /* 2 or 4 bytes */
    Numbers numbers;
};

/*
 * The ports of a UDP header. The walk goes by the destination port, or by the source port if that
 * one announces nothing: `tunnel` is to be what it finds, or none of all.
 */
struct Ports {
    uint32_t offset; /* of the source port; that of the destination follows */
    Numbers tunnel;
};

using TunnelPorts = List<uint16_t, 32>;

/* A length field of 16 bits: what it is about ends at base + length, counted in the frame. */
struct Length {
    uint32_t offset, base;
};

struct PlannedSum {
    struct carry_packet_sum found; /* of a good one, all that is the same in every frame */
    bool over_header;              /* IPv4's: covers IPV4_HEADER_BYTES, whatever the lengths say */
    bool may_be_absent;            /* a stored 0 says so */
    bool zero_is_illegal;
    uint32_t length;    /* index of what tells where it ends */
    uint32_t addresses; /* offset of those of its pseudo-header */
};

constexpr uint32_t SUMS_MAX = CARRY_JIT_LAYERS_MAX;

constexpr uint32_t IPV4_HEADER_BYTES = 20; /* without options */

/* Lengths have 16 bits, counted from the end of the header at most. */
constexpr uint32_t CONTENT_MAX = 65535 + 40;

/* Up to 8 bytes that are compared at once, as they are loaded with the lowest byte first. */
struct MatchGroup {
    uint32_t offset, size;
    uint64_t mask, value;
};

/* A number in the network's byte order, as it is loaded with the lowest byte first. */
inline uint32_t loaded(uint32_t number, uint32_t size) {
    return __builtin_bswap32(number) >> 8 * (4 - size);
}

/* What a function checks, all from outer to inner. */
struct PacketPlan {
    uint32_t linktype, flags;
    uint32_t size;        /* of all headers */
    uint32_t vector_bits; /* of the vectors that sum */
    uint64_t features;    /* bits of the generator's own, of what this CPU has of use for it */
    List<Match, 8 * CARRY_JIT_LAYERS_MAX> matches; /* by ascending offsets */
    List<Choice, CARRY_JIT_LAYERS_MAX> choices;
    List<Ports, CARRY_JIT_LAYERS_MAX> ports;
    List<Length, CARRY_JIT_LAYERS_MAX>
        lengths;                     /* each ends within what the one before it is about */
    List<PlannedSum, SUMS_MAX> sums; /* the last is that of the innermost header */

    size_t innermost() const {
        return sums.count - 1;
    }
    /* The offset of what the innermost sum covers. */
    uint32_t content() const {
        return sums[innermost()].found.cover_offset;
    }
    /* UDP around a tunnel. */
    bool is_around(size_t index) const {
        return !sums[index].over_header && index != innermost();
    }
    size_t count_around() const;

    /* Sums with pseudo-headers that are further in. */
    size_t transports_within(size_t index) const;

    /* The matches from `match` on that one load can hold, within the headers; passes them. */
    MatchGroup next_group(const Match *&match) const;
};

/* All ports that announce a tunnel. */
const TunnelPorts &tunnel_ports();

/*
 * Each architecture's, in jit/<arch>/packet.cc. plan_packet() fills in vector_bits and features by
 * this CPU and its mask: 0, or CARRY_ERROR_UNSUPPORTED.
 */
int plan_packet(PacketPlan &plan);
Emit emit_packet; /* its spec is a PacketPlan */

} // namespace carry::jit

#endif
