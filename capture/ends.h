/* SPDX-License-Identifier: MIT */
/* Finds the addresses and ports of the packet that a checksum is part of. */
#ifndef CARRY_CAPTURE_SRC_ENDS_H
#define CARRY_CAPTURE_SRC_ENDS_H

#include <carry/capture.h>

struct ends {
    struct carry_capture_address from, to;
    int32_t from_port, to_port; /* -1: none */
};

/* Checks whether the first four bytes that sums of this protocol cover are ports. */
bool carry_ends_has_ports(unsigned protocol);

/* Checks whether the addresses say that a packet stays on its machine: it goes to a loopback
   address, or to its sender. */
bool carry_ends_are_local(const struct ends *ends);

/* Returns the addresses in the IP header that the sum refers to. For protocols with ports, also
   returns the ports in the first covered bytes, as far as these were captured. */
struct ends carry_ends_of(const struct carry_frame *frame, const struct carry_packet_sum *sum);

#endif
