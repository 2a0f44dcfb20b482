/* SPDX-License-Identifier: MIT */
/* Between which ends a checksum was sent. */
#ifndef CARRY_CAPTURE_SRC_ENDS_H
#define CARRY_CAPTURE_SRC_ENDS_H

#include <carry/capture.h>

struct ends {
    struct carry_capture_address from, to;
    int32_t from_port, to_port; /* -1: none */
};

/* True if the first four bytes that its sums cover are ports. */
bool carry_ends_has_ports(unsigned protocol);

/* The ends by the IP header that a sum belongs to and, for protocols with ports, by the first bytes
   covered, as far as they were captured. */
struct ends carry_ends_of(const struct carry_frame *frame, const struct carry_packet_sum *sum);

#endif
