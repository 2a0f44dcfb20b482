/* SPDX-License-Identifier: MIT */
#include "direction.h"

#include <stddef.h>

static const struct row {
    uint32_t linktype;
    uint8_t at, size, sent, received, device_at;
    uint16_t loopback;
} rows[] = {
#define CARRY_DIRECTION(linktype, at, size, sent, received, device_at, loopback)                   \
    {linktype, at, size, sent, received, device_at, loopback},
#include "directions.def"
#undef CARRY_DIRECTION
};

static const struct row *find_link_row(uint32_t linktype) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].linktype == linktype)
            return &rows[i];
    return NULL;
}

static uint32_t load_field(const struct carry_capture_packet *packet, uint32_t at, uint32_t size) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < size; i++)
        value = value << 8 | packet->data[at + i];
    return value;
}

static bool is_loopback_device(const struct carry_capture_packet *packet, const struct row *row) {
    return row && row->loopback && row->device_at + 2u <= packet->captured &&
           load_field(packet, row->device_at, 2) == row->loopback;
}

static enum direction link_direction(const struct carry_capture_packet *packet,
                                     const struct row *row) {
    if (!row || (uint32_t)row->at + row->size > packet->captured)
        return DIRECTION_UNKNOWN;
    const uint32_t value = load_field(packet, row->at, row->size);
    if (value == row->sent)
        return DIRECTION_SENT;
    return value <= row->received ? DIRECTION_RECEIVED : DIRECTION_UNKNOWN;
}

enum direction carry_direction_of(const struct carry_capture_packet *packet) {
    const struct row *row = find_link_row(packet->linktype);
    if (is_loopback_device(packet, row))
        return DIRECTION_LOCAL;
    if (packet->flags & CARRY_CAPTURE_PACKET_SENT)
        return DIRECTION_SENT;
    if (packet->flags & CARRY_CAPTURE_PACKET_RECEIVED)
        return DIRECTION_RECEIVED;
    return link_direction(packet, row);
}
