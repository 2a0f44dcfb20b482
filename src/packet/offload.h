/* SPDX-License-Identifier: MIT */
/* Recognises checksums that senders leave to their network cards: they are not damaged. */
#ifndef CARRY_PACKET_OFFLOAD_H
#define CARRY_PACKET_OFFLOAD_H

#include "packet/walk.h"

/*
 * Checks whether the field holds the folded sum of the pseudo-header, not inverted. For large
 * sends, Windows omits the length, which differs between segments. `stored` is in memory order.
 */
static inline bool carry_offload_is_partial(const struct carry_packet_sum *sum, uint16_t stored) {
    uint32_t size;
    const uint8_t bytes[4] = {(uint8_t)(sum->pseudo_size >> 24), (uint8_t)(sum->pseudo_size >> 16),
                              (uint8_t)(sum->pseudo_size >> 8), (uint8_t)sum->pseudo_size};
    __builtin_memcpy(&size, bytes, sizeof size);
    return sum->pseudo && (stored == carry_sum_fold(sum->pseudo) ||
                           stored == carry_sum_fold(carry_sum_combine(sum->pseudo, ~size, 0)));
}

/*
 * Checks whether a card will complete the sum, or a sum that it covers. No card completes quoted
 * sums.
 */
static inline bool carry_offload_is_left(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && !sum->quoted;
}

/* Checks for an IPv4 header's bad sum that holds 0: a card may fill it in. */
static inline bool carry_offload_is_empty_header(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_IP && sum->verdict == CARRY_VERDICT_BAD && !sum->stored;
}

/*
 * Judges the sums whose verdict depends on the other sums of the frame. Call it at the end of a
 * walk that listed a sum for which carry_offload_is_left() or carry_offload_is_empty_header()
 * holds.
 */
void carry_offload_settle(const struct carry_walk *walk);

#endif
