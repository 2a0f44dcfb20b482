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
    bool over_header;              /* IPv4's: covers 20 bytes, whatever the lengths say */
    bool may_be_absent;            /* a stored 0 says so */
    bool zero_is_illegal;
    uint32_t length;    /* index of what tells where it ends */
    uint32_t addresses; /* offset of those of its pseudo-header */
};

constexpr uint32_t SUMS_MAX = CARRY_JIT_LAYERS_MAX;

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
