/* SPDX-License-Identifier: MIT */
/*
 * Linux's netfilter log: the family of the table, then fields of a size, a type and data; one field
 * is the packet. Sizes and types are in the byte order of the capturing host. In tables of families
 * other than IP, such as bridge tables, a field holds the packet's ethertype.
 */
#include "packet/nflog.h"

#define VERSION 0

#define TYPE_PACKET_HEADER 1

struct field {
    uint32_t size; /* with its header of 4 bytes */
    uint32_t type;
};

/* Reads the header of a field. Types are small numbers, which shows the byte order. */
static struct field read_nflog_field(const uint8_t *header) {
    if (header[2] == 0)
        return (struct field){carry_load16(header), header[3]};
    return (struct field){carry_load_le16(header), carry_load_le16(header + 2)};
}

/* Moves to the data of the packet's field. Sets *ethertype from an earlier field, or to 0. Returns
 * false if no field is the packet. */
static bool find_payload(struct carry_walk *walk, struct carry_nflog_form form,
                         uint32_t *ethertype) {
    *ethertype = 0;
    for (const uint8_t *header; (header = carry_walk_take(walk, 4));) {
        struct field field = read_nflog_field(header);
        if (field.size < 4)
            return false;
        if (field.type == form.payload) {
            carry_walk_limit(walk, field.size - 4);
            return true;
        }
        if (!carry_walk_take(walk, (field.size - 1) / 4 * 4)) /* padded to a multiple of 4 */
            return false;
        if (field.type == TYPE_PACKET_HEADER && field.size >= 4 + form.ethertype_at + 2)
            *ethertype = carry_load16(header + 4 + form.ethertype_at);
    }
    return false;
}

uint32_t carry_walk_nflog(struct carry_walk *walk, struct carry_nflog_form form) {
    uint32_t ethertype;
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header || header[1] != VERSION || !find_payload(walk, form, &ethertype))
        return CARRY_NEXT_NONE;
    uint32_t next = carry_walk_family(header[0]);
    return next != CARRY_NEXT_NONE ? next : CARRY_NEXT(ETHERTYPE, ethertype);
}

uint32_t carry_packet_walk_nflog(struct carry_walk *walk) {
    return carry_walk_nflog(walk, carry_nflog_log);
}
