/* SPDX-License-Identifier: MIT */
/*
 * A network card completes one sum of a frame, or several, and some cards fill in the sums of IPv4
 * headers too. What is left to them shows in the frame's other sums:
 *
 * - A header's sum of 0 is left to the card where a sum in the same packet is partial. Chance makes
 *   one header in 65,535 hold 0, and hardly ever beside a partial sum. By itself, 0 is damage,
 *   unless the caller knows the sender.
 * - The headers of tunnels around it hold sums that become right once the card has filled in the
 *   inner one ("local checksum offload"): no damage either.
 */
#include "packet/offload.h"

/* --- Sums of IPv4 headers --- */

/* Where the packet of this header ends. A total length of 0 says that all is of it. */
static uint32_t packet_end(const struct carry_walk *walk, const struct carry_packet_sum *header) {
    uint32_t total = carry_load16(walk->data + header->cover_offset + 2);
    uint32_t left = walk->wire - header->cover_offset;
    return total && total < left ? header->cover_offset + total : walk->wire;
}

/* From here on, headers and outer sums are meant by their index in walk->sums. */
static bool holds_partial(const struct carry_walk *walk, size_t header) {
    uint32_t end = packet_end(walk, &walk->sums[header]);
    for (size_t i = header + 1; i < walk->count; i++)
        if (carry_offload_is_left(&walk->sums[i]) && walk->sums[i].field_offset < end)
            return true;
    return false;
}

/* Not by its reason: in a fragment, another one is graver. */
static bool is_cut(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    uint64_t end = (uint64_t)sum->cover_offset + sum->cover_size;
    return sum->verdict == CARRY_VERDICT_UNVERIFIABLE && end > walk->captured;
}

static bool has_field(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    return (uint64_t)sum->field_offset + sum->field_size <= walk->captured;
}

/* Has it one pseudo-header? PIM has two, and which of them it takes only all of it tells. */
static bool has_one_form(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_TCP || sum->protocol == CARRY_PROTOCOL_UDP;
}

/* Could this one, of which not all was captured, be partial? */
static bool may_be_partial(const struct carry_walk *walk, const struct carry_packet_sum *sum) {
    if (!is_cut(walk, sum))
        return false;
    if (!has_field(walk, sum) || (sum->pseudo && !has_one_form(sum)))
        return true;
    return carry_offload_is_partial(sum, carry_load_raw16(walk->data + sum->field_offset));
}

/*
 * Could sums be listed behind the last one, had the capture kept more? It cannot be partial. Behind
 * TCP or UDP there are none: UDP with a packet in it is not where the walk ends.
 */
static bool may_list_more(const struct carry_walk *walk) {
    const struct carry_packet_sum *last = &walk->sums[walk->count - 1];
    if (walk->quoted)
        return false;
    return walk->offset != last->cover_offset || (is_cut(walk, last) && !has_one_form(last));
}

/*
 * Would a partial sum show in the packet, if there were one? A cut never turns partial into bad.
 * Behind what an ICMP error quotes come its extensions, of which none is partial.
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

/* What the sum changes by, as a partial one, when it holds what is expected of it. */
static uint32_t completion_change(const struct carry_packet_sum *sum) {
    const uint8_t bytes[4] = {(uint8_t)(sum->expected >> 8), (uint8_t)sum->expected,
                              (uint8_t) ~(sum->stored >> 8), (uint8_t)~sum->stored};
    return carry_sum(bytes, sizeof bytes, 0);
}

/* Does it verify once all that it covers is complete, of which there is something? */
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

/* From the innermost outwards, since headers are among what sums stand around. */
void carry_offload_settle(const struct carry_walk *walk) {
    for (size_t i = walk->count; i-- > 0;) {
        if (carry_offload_is_empty_header(&walk->sums[i]))
            judge_empty_header(walk, i);
        else if (walk->sums[i].verdict == CARRY_VERDICT_BAD)
            judge_around(walk, i);
    }
}
