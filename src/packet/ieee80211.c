/* SPDX-License-Identifier: MIT */
/*
 * Data frames of IEEE 802.11 (2020, section 9.3.2): each holds an MSDU, or an A-MSDU of several,
 * and each MSDU an LLC frame, in a mesh after a Mesh Control field. The walk ends at encrypted
 * frames.
 */
#include "packet/ieee80211.h"

/* Frame control, as two bytes. */
#define TYPE_MASK   0x0f /* with the version */
#define DATA        0x08
#define NO_DATA     0x40
#define QOS         0x80
#define BOTH_DS     0x03
#define FROM_DS     0x02
#define MORE        0x04
#define PROTECTED   0x40
#define HAS_CONTROL 0x80 /* HT Control, in QoS frames */

#define FRAGMENT_NUMBER 0x0f /* of sequence control */
#define A_MSDU          0x80 /* of QoS control */
#define MESH_CONTROL    0x01 /* of its second byte; has another meaning outside meshes */

#define GROUP              0x01 /* in the first byte of an address */
#define MESH_CONTROL_SIZE  6    /* before its addresses */
#define MESH_ADDRESSES_MAX 2    /* the flags are their number: other values are reserved */

/* Returns the size before QoS Control. Frames between access points have a fourth address. */
static uint32_t mac_address_size(uint8_t flags) {
    return (flags & BOTH_DS) == BOTH_DS ? 30 : 24;
}

static uint32_t mac_header_size(uint8_t type, uint8_t flags) {
    uint32_t qos_size = flags & HAS_CONTROL ? 6 : 2;
    return mac_address_size(flags) + (type & QOS ? qos_size : 0);
}

static bool has_clear_data(uint8_t type, uint8_t flags) {
    return (type & TYPE_MASK) == DATA && !(type & NO_DATA) && !(flags & PROTECTED);
}

/* Walks a subframe (section 9.3.2.2.2), and returns the next protocol. Each subframe except the
 * last is padded to a multiple of 4 bytes. */
static uint32_t walk_subframe(struct carry_walk *walk) {
    uint32_t start = walk->offset;
    const uint8_t *header = carry_walk_take(walk, 14);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = carry_load16(header + 12);
    carry_walk_return_to(walk, start + (uint64_t)(14 + size + 3) / 4 * 4, walk_subframe);
    carry_walk_limit(walk, size);
    return CARRY_NEXT(ETHERTYPE, 0x0004);
}

/*
 * Checks whether meshes send such frames: between stations, or from a station to a group (section
 * 9.2.4.5.10). `control` is the frame's QoS control.
 */
static bool is_of_mesh(const uint8_t *header, uint8_t flags, const uint8_t *control) {
    bool is_group = (flags & BOTH_DS) == FROM_DS && header[4] & GROUP;
    return (is_group || (flags & BOTH_DS) == BOTH_DS) && control[1] & MESH_CONTROL;
}

/*
 * Skips the Mesh Control field (section 9.2.4.8.3). Its flags distinguish it from an LLC header: an
 * LLC header before IP begins with a larger number.
 */
static void skip_mesh_control(struct carry_walk *walk) {
    const uint8_t *field = carry_walk_header(walk, 1);
    if (field && field[0] <= MESH_ADDRESSES_MAX)
        carry_walk_take(walk, MESH_CONTROL_SIZE + field[0] * 6u);
}

uint32_t carry_walk_ieee80211(struct carry_walk *walk, enum carry_ieee80211_form form) {
    const uint8_t *header = carry_walk_header(walk, 24);
    if (!header)
        return CARRY_NEXT_NONE;
    bool swapped = form == CARRY_IEEE80211_SWAPPED && (header[0] & TYPE_MASK) != DATA;
    uint8_t type = header[swapped], flags = header[!swapped];
    /* Senders that swap frame control may also swap sequence control, so its fragment number is not
     * used. */
    bool is_later_fragment = !swapped && header[22] & FRAGMENT_NUMBER;
    if (!has_clear_data(type, flags) || is_later_fragment)
        return CARRY_NEXT_NONE;
    uint32_t size = mac_header_size(type, flags);
    if (!carry_walk_take(walk, form == CARRY_IEEE80211_PADDED ? (size + 3) / 4 * 4 : size))
        return CARRY_NEXT_NONE;
    if (flags & MORE)
        walk->beyond = CARRY_REASON_FRAGMENT;
    const uint8_t *control = header + mac_address_size(flags);
    if (type & QOS && control[0] & A_MSDU)
        return walk_subframe(walk);
    if (type & QOS && is_of_mesh(header, flags, control))
        skip_mesh_control(walk);
    return CARRY_NEXT(ETHERTYPE, 0x0004);
}

uint32_t carry_packet_walk_ieee80211(struct carry_walk *walk) {
    return carry_walk_ieee80211(walk, CARRY_IEEE80211_PLAIN);
}
