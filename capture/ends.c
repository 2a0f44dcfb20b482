/* SPDX-License-Identifier: MIT */
#include "ends.h"

#include <string.h>

static void find_addresses(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                           struct ends *ends) {
    size_t size = sum->version == 6 ? 16 : 4;
    size_t offset = sum->network_offset + (sum->version == 6 ? (size_t)8 : 12);
    const uint8_t *bytes = (const uint8_t *)frame->data + offset;
    if (!sum->version || offset + 2 * size > frame->captured)
        return;
    ends->from.version = ends->to.version = sum->version;
    memcpy(ends->from.bytes, bytes, size);
    memcpy(ends->to.bytes, bytes + size, size);
}

bool carry_ends_has_ports(unsigned protocol) {
    return protocol == CARRY_PROTOCOL_TCP || protocol == CARRY_PROTOCOL_UDP ||
           protocol == CARRY_PROTOCOL_UDPLITE;
}

static bool is_loopback_address(const struct carry_capture_address *address) {
    static const uint8_t loopback6[16] = {[15] = 1};
    if (address->version == 4)
        return address->bytes[0] == 127;
    return memcmp(address->bytes, loopback6, sizeof loopback6) == 0;
}

/* Checks whether all bytes of an address are 0, as some tools that anonymise captures leave
   them. */
static bool is_no_address(const struct carry_capture_address *address) {
    static const uint8_t none[sizeof address->bytes] = {0};
    return memcmp(address->bytes, none, sizeof none) == 0;
}

bool carry_ends_are_local(const struct ends *ends) {
    const bool to_sender = memcmp(&ends->from, &ends->to, sizeof ends->to) == 0;
    return is_loopback_address(&ends->to) || (to_sender && !is_no_address(&ends->to));
}

struct ends carry_ends_of(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    struct ends ends = {.from_port = -1, .to_port = -1};
    find_addresses(frame, sum, &ends);
    if (carry_ends_has_ports(sum->protocol) && (uint64_t)sum->cover_offset + 4 <= frame->captured) {
        const uint8_t *ports = (const uint8_t *)frame->data + sum->cover_offset;
        ends.from_port = ports[0] << 8 | ports[1];
        ends.to_port = ports[2] << 8 | ports[3];
    }
    return ends;
}
