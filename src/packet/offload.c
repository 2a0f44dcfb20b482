/* SPDX-License-Identifier: MIT */
/*
 * Decides at the end of a frame which checksums the sender left to its network card. A card
 * completes one or several sums of a frame, and some cards also fill in the sums of IPv4 headers:
 *
 * - A header's sum of 0 is left to the card if a sum in the same packet is partial. One header in
 *   65,535 holds 0 by chance, and hardly ever together with a partial sum. Without a partial sum, 0
 *   is damage, unless the caller knows the sender.
 * - The sums of tunnels around a partial sum become right once the card has completed the inner one
 *   ("local checksum offload"): they are not damaged either.
 */
#include "packet/offload.h"

/* --- Sums of IPv4 headers --- */

/* Returns the end of the header's packet. A total length of 0 stands for all bytes on the wire. */
static uint32_t packet_end(const struct carry_walk *walk, const struct carry_packet_sum *header) {
    uint32_t total = carry_load16(walk->data + header->cover_offset + 2);
    uint32_t left = walk->wire - header->cover_offset;
    return total && total < left ? header->cover_offset + total : walk->wire;
}

/*
 * Checks whether a header's packet holds a partial sum. From here on, headers and outer sums are
 * passed as indices into walk->sums.
 */
static bool holds_partial(const struct carry_walk *walk, size_t header) {
    uint32_t end = packet_end(walk, &walk->sums[header]);
    for (size_t i = header + 1; i < walk->count; i++)
        if (carry_offload_is_left(&walk->sums[i]) && walk->sums[i].field_offset < end)
            return true;
    return false;
}

/* Checks whether covered bytes are missing. sum->reason does not show this, because FRAGMENT has
 * precedence over SNAPLEN. */
static bool is_cut(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    uint64_t end = (uint64_t)sum->cover_offset + sum->cover_size;
    return sum->verdict == CARRY_VERDICT_UNVERIFIABLE && end > walk->captured;
}

static bool has_field(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    return (uint64_t)sum->field_offset + sum->field_size <= walk->captured;
}

/* Checks whether the pseudo-header is certain. PIM has two forms; only a complete packet shows
 * which one it uses. */
static bool has_one_form(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_TCP || sum->protocol == CARRY_PROTOCOL_UDP;
}

/* Checks whether a sum whose covered bytes were not all captured could be partial. */
static bool may_be_partial(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    if (!is_cut(walk, sum))
        return false;
    if (!has_field(walk, sum) || (sum->pseudo && !has_one_form(sum)))
        return true;
    return carry_offload_is_partial(sum, carry_load_raw16(walk->data + sum->field_offset));
}

/*
 * Checks whether a longer capture could show sums after the last one, given that the last one is
 * not partial. After TCP and UDP there are none: a walk does not end at UDP with a packet in it.
 */
static bool may_list_more(const struct carry_walk *walk) {
    const struct carry_packet_sum *last = &walk->sums[walk->count - 1];
    if (walk->quoted)
        return false;
    return walk->offset != last->cover_offset || (is_cut(walk, last) && !has_one_form(last));
}

/*
 * Checks whether the header's packet may hold a partial sum that was not captured: truncation must
 * not turn a partial sum into a bad one. After a quoted packet there are only extensions, which are
 * never partial.
 */
static bool is_hidden(const struct carry_walk *walk, size_t header) {
    if (walk->captured >= packet_end(walk, &walk->sums[header]))
        return false;
    for (size_t i = header + 1; i < walk->count; i++) {
        if (walk->sums[i].quoted)
            return false;
        if (may_be_partial(walk, &walk->sums[i]))
            return true;
    }
    return may_list_more(walk);
}

static void judge_empty_header(const struct carry_walk *walk, size_t header) {
    struct carry_packet_sum *sum = &walk->sums[header];
    if (holds_partial(walk, header)) {
        sum->verdict = CARRY_VERDICT_PARTIAL;
    } else if (walk->flags & CARRY_PACKET_IP_ZERO_PARTIAL) {
        sum->verdict = CARRY_VERDICT_PARTIAL;
        return;
    } else if (is_hidden(walk, header)) {
        sum->verdict = CARRY_VERDICT_UNVERIFIABLE;
        sum->reason = CARRY_REASON_SNAPLEN;
    } else {
        return;
    }
    sum->cause = CARRY_CAUSE_HEADER;
}

/* --- Sums around others --- */

/* Returns the change of a partial sum over the field when the card stores the expected value. */
static uint32_t completion_change(const struct carry_packet_sum *sum) {
    const uint8_t bytes[4] = {(uint8_t)(sum->expected >> 8), (uint8_t)sum->expected,
                              (uint8_t) ~(sum->stored >> 8), (uint8_t)~sum->stored};
    return carry_sum(bytes, sizeof bytes, 0);
}

/* Checks whether the outer sum covers partial sums, and verifies once all of these are complete. */
static bool verifies_around(const struct carry_walk *walk, size_t outer) {
    const struct carry_packet_sum *around = &walk->sums[outer];
    bool is_around = false;
    if (around->field_size != 2)
        return false;
    uint32_t start = around->cover_offset;
    uint32_t total = carry_sum(walk->data + start, around->cover_size, around->pseudo);
    for (size_t i = outer + 1; i < walk->count; i++) {
        const struct carry_packet_sum *sum = &walk->sums[i];
        if (!carry_offload_is_left(sum) || !carry_walk_covers(around, sum))
            continue;
        is_around = true;
        total = carry_sum_combine(total, completion_change(sum), sum->field_offset - start);
    }
    return is_around && carry_sum_finish(total) == 0;
}

static void judge_around(const struct carry_walk *walk, size_t outer) {
    struct carry_packet_sum *sum = &walk->sums[outer];
    if (!verifies_around(walk, outer))
        return;
    sum->verdict = CARRY_VERDICT_PARTIAL;
    sum->expected = sum->stored;
}

/* Goes from the innermost sum outwards, because outer sums cover the headers of inner packets. */
void carry_offload_settle(const struct carry_walk *walk) {
    for (size_t i = walk->count; i-- > 0;) {
        if (carry_offload_is_empty_header(&walk->sums[i]))
            judge_empty_header(walk, i);
        else if (walk->sums[i].verdict == CARRY_VERDICT_BAD)
            judge_around(walk, i);
    }
}
