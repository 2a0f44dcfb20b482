/* SPDX-License-Identifier: MIT */
#include "raw_ip.h"

#define LINK_ETHERNET 1u
#define LINK_RAW      101u

/* Checks the version of IP, and in IPv4 the usual size of the header. */
static bool may_be_ip(uint8_t first) {
    return first == 0x45 || first >> 4 == 6;
}

bool carry_raw_ip_is_in_ethernet(const struct carry_frame *frame) {
    const uint8_t *data = frame->data;
    if (frame->linktype != LINK_ETHERNET || !frame->captured || !may_be_ip(*data))
        return false;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_frame raw = *frame;
    raw.linktype = LINK_RAW;
    const size_t count = carry_packet_check(&raw, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (sums[i].verdict == CARRY_VERDICT_GOOD)
            return true;
    return false;
}
