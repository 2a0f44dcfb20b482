/* SPDX-License-Identifier: MIT */
#include "local_headers.h"

#include "ends.h"
#include "verdict.h"

/* Link types of loopback devices. Their header is an address family. */
#define LINK_NULL       0u
#define LINK_LOOP       108u
#define LINK_LOOP_BYTES 4u

/* Checks whether the frame begins with this packet and was captured on a loopback device. The
   device does not show the sender of a packet inside a tunnel. */
static bool is_on_loopback(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    return (frame->linktype == LINK_NULL || frame->linktype == LINK_LOOP) &&
           sum->network_offset == LINK_LOOP_BYTES;
}

bool carry_local_headers_is_local(const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum) {
    const struct ends ends = carry_ends_of(frame, sum);
    return is_on_loopback(frame, sum) || carry_ends_are_local(&ends);
}

void carry_local_headers_leave(const struct carry_frame *frame, struct carry_packet_sum *sums,
                               size_t count) {
    for (size_t i = 0; i < count; i++)
        if (verdict_is_lone_header(&sums[i]) && carry_local_headers_is_local(frame, &sums[i]))
            sums[i].verdict = CARRY_VERDICT_PARTIAL;
}

bool carry_local_headers_is_left(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_IP && sum->verdict == CARRY_VERDICT_PARTIAL &&
           sum->cause != CARRY_CAUSE_HEADER;
}
