/* SPDX-License-Identifier: MIT */
/*
 * Finds IPv4 headers of packets that stay on their machine and whose sums hold 0. Windows and
 * others fill in no such sums, as nothing verifies them.
 *
 * The walk calls them bad, as it does not ask where a packet goes. So all that judges packets in
 * this folder calls carry_local_headers_leave() after it.
 */
#ifndef CARRY_CAPTURE_SRC_LOCAL_HEADERS_H
#define CARRY_CAPTURE_SRC_LOCAL_HEADERS_H

#include <carry/capture.h>

/* Turns those of these sums of a frame that are bad into partial ones. */
void carry_local_headers_leave(const struct carry_frame *frame, struct carry_packet_sum *sums,
                               size_t count);

/* Checks whether carry_local_headers_leave() turned this sum, or options of the walk did. */
bool carry_local_headers_is_left(const struct carry_packet_sum *sum);

/* Checks whether the packet that this sum belongs to stays on its machine: it came through a
   loopback device, or its addresses say so. */
bool carry_local_headers_is_local(const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum);

#endif
