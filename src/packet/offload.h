/* SPDX-License-Identifier: MIT */
/* What senders leave for network cards to complete, and how it is told from damage. */
#ifndef CARRY_PACKET_OFFLOAD_H
#define CARRY_PACKET_OFFLOAD_H

#include "packet/walk.h"

/*
 * Does the field hold the folded sum of the pseudo-header, not inverted? For large sends, Windows
 * leaves the length out of it, since each segment will have its own. `stored` is in memory order.
 */
static inline bool carry_offload_is_partial(const struct carry_packet_sum *sum, uint16_t stored) {
    uint32_t size;
    const uint8_t bytes[4] = {(uint8_t)(sum->pseudo_size >> 24), (uint8_t)(sum->pseudo_size >> 16),
                              (uint8_t)(sum->pseudo_size >> 8), (uint8_t)sum->pseudo_size};
    __builtin_memcpy(&size, bytes, sizeof size);
    return sum->pseudo && (stored == carry_sum_fold(sum->pseudo) ||
                           stored == carry_sum_fold(carry_sum_combine(sum->pseudo, ~size, 0)));
}

/* Is a card to complete it, or something in it? None completes what an ICMP error quotes. */
static inline bool carry_offload_is_left(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && !sum->quoted;
}

/* An IPv4 header's sum that is bad, and holds 0: a card may be left to fill it in. */
static inline bool carry_offload_is_empty_header(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_IP && sum->verdict == CARRY_VERDICT_BAD && !sum->stored;
}

/*
 * Judges what only the other sums of the frame tell. To be called at the end of a walk, if it
 * listed a sum that is left to a card, or may be.
 */
void carry_offload_settle(const struct carry_walk *walk);

#endif
