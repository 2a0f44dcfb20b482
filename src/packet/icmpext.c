/* SPDX-License-Identifier: MIT */
/*
 * The extension of ICMP messages (RFC 4884, section 7): objects after the packet that an error
 * quotes, or in an extended echo request (RFC 8335), with a checksum of their own.
 */
#include "packet/icmp.h"

#define VERSION        0xf000 /* of the first 16 bits; the others are reserved */
#define VERSION_2      0x2000
#define QUOTE_SIZE_MIN 128 /* quoted packets before an extension are padded to this size */
#define HEADER_SIZE    4
#define OBJECT_MIN     4
#define OBJECT_NAMED   3 /* class of the object that names an interface */

/*
 * Returns the size of an extension. The extension of a request ends with its only object, which
 * names an interface (RFC 8335, section 2), because ping appends a time stamp. Any other extension
 * fills the message.
 */
static uint32_t extension_size(const struct carry_walk *walk) {
    const uint8_t *object = carry_walk_header(walk, HEADER_SIZE + OBJECT_MIN);
    uint32_t all = carry_walk_size(walk);
    if (!object || object[HEADER_SIZE + 2] != OBJECT_NAMED)
        return all;
    uint32_t size = carry_load16(object + HEADER_SIZE);
    return size >= OBJECT_MIN && HEADER_SIZE + size <= all ? HEADER_SIZE + size : all;
}

uint32_t carry_packet_walk_icmpext(struct carry_walk *walk) {
    uint32_t size = extension_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_ICMPEXT, 2, size, 0, CARRY_VERDICT_ABSENT);
    return CARRY_NEXT_NONE;
}

uint32_t carry_icmp_extension(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    bool is_known = header && (carry_load16(header) & VERSION) == VERSION_2;
    return is_known ? CARRY_NEXT(ICMP, CARRY_ICMP_EXTENDED_ECHO) : CARRY_NEXT_NONE;
}

/*
 * Checks for an extension that is not announced. Senders from before RFC 4884 quote 128 bytes, and
 * do not announce an extension (section 5.5): it is recognised by objects that fill the rest
 * exactly. Also returns true if the captured objects may be the start of such an extension, so that
 * a truncated message never shows sums that the whole message does not.
 */
static bool may_be_extended_silently(const struct carry_walk *walk) {
    uint64_t all = carry_walk_size(walk), offset = CARRY_ICMP_HEADER_SIZE + QUOTE_SIZE_MIN;
    uint32_t seen = carry_walk_readable(walk) - walk->offset;
    const uint8_t *message = walk->data + walk->offset;
    if (all <= offset + 4 || seen <= offset)
        return false;
    if (seen >= offset + 2 && carry_load16(message + offset) != VERSION_2)
        return false;
    offset += 4;
    while (offset + 4 <= all && offset + 4 <= seen) {
        uint32_t size = carry_load16(message + offset);
        if (size < 4)
            return false;
        offset += size;
    }
    return offset == all || offset + 4 <= all;
}

void carry_icmp_cut_quote(struct carry_walk *walk, uint32_t size) {
    uint64_t end = walk->offset + (uint64_t)size;
    if (end < walk->bound)
        walk->bound = (uint32_t)end;
}

void carry_icmp_start_extended_quote(struct carry_walk *walk, uint32_t size) {
    bool is_sure = size != 0 || carry_walk_header(walk, carry_walk_size(walk));
    if (size == 0 && may_be_extended_silently(walk))
        size = QUOTE_SIZE_MIN;
    if (size >= QUOTE_SIZE_MIN) {
        size += CARRY_ICMP_HEADER_SIZE;
        if (is_sure)
            carry_walk_return_to(walk, walk->offset + (uint64_t)size, carry_icmp_extension);
        carry_icmp_cut_quote(walk, size);
    }
    carry_icmp_start_quote(walk);
}
