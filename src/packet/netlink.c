/* SPDX-License-Identifier: MIT */
/*
 * Linux's netlink (RFC 3549, section 2), after the header of cooked captures. That header ends with
 * the family. Packets are in the messages of two subsystems of netfilter: its log and its queue.
 * Messages are in the byte order of the capturing host; their type shows this order.
 */
#include "packet/netlink.h"

#include "packet/nflog.h"

#define FAMILY_NETFILTER 12
#define HEADER_SIZE      16

/* Subsystem in the high byte, message in the low byte. */
enum type { TYPE_QUEUE_PACKET = 0x0300, TYPE_LOG_PACKET = 0x0400 };

static const struct carry_nflog_form queue = {.payload = 10, .ethertype_at = 4};

/* Checks whether the message is big-endian: in the wrong byte order, the types name no packets. */
static bool is_swapped(const uint8_t *header) {
    uint32_t type = carry_load16(header + 4);
    return type == TYPE_QUEUE_PACKET || type == TYPE_LOG_PACKET;
}

static uint32_t walk_content(struct carry_walk *walk, uint32_t type) {
    switch (type) {
    case TYPE_LOG_PACKET:
        return carry_walk_nflog(walk, carry_nflog_log);
    case TYPE_QUEUE_PACKET:
        return carry_walk_nflog(walk, queue);
    default:
        return CARRY_NEXT_NONE;
    }
}

static uint32_t walk_message(struct carry_walk *walk) {
    uint32_t start = walk->offset;
    const uint8_t *header = carry_walk_take(walk, HEADER_SIZE);
    if (!header)
        return CARRY_NEXT_NONE;
    bool swapped = is_swapped(header);
    uint32_t size = swapped ? carry_load32(header) : carry_load_le32(header);
    uint32_t type = swapped ? carry_load16(header + 4) : carry_load_le16(header + 4);
    if (size < HEADER_SIZE)
        return CARRY_NEXT_NONE;
    carry_walk_return_to(walk, start + ((uint64_t)size + 3) / 4 * 4, walk_message);
    carry_walk_limit(walk, size - HEADER_SIZE);
    return walk_content(walk, type);
}

uint32_t carry_walk_netlink(struct carry_walk *walk, uint32_t family) {
    return family == FAMILY_NETFILTER ? walk_message(walk) : CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_netlink(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 16);
    return header ? carry_walk_netlink(walk, carry_load16(header + 14)) : CARRY_NEXT_NONE;
}
