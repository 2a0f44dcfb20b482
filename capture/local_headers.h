/* SPDX-License-Identifier: MIT */
/*
 * Finds IPv4 headers of packets that stay on their machine and whose sums hold 0. Windows and other
 * systems do not fill in such sums, because nothing verifies them.
 *
 * The walk judges these sums as bad, because it does not consider where a packet goes. So all code
 * in this folder that judges packets calls carry_local_headers_leave() afterwards.
 */
#ifndef CARRY_CAPTURE_SRC_LOCAL_HEADERS_H
#define CARRY_CAPTURE_SRC_LOCAL_HEADERS_H

#include <carry/capture.h>

/* Turns bad sums of 0 of IPv4 headers into partial ones, for packets of the frame that stay on
   their machine. */
void carry_local_headers_leave(const struct carry_frame *frame, struct carry_packet_sum *sums,
                               size_t count);

/* Checks whether carry_local_headers_leave(), or an option of the walk, turned this sum into a
   partial one. */
bool carry_local_headers_is_left(const struct carry_packet_sum *sum);

/* Checks whether the packet of this sum stays on its machine: it came through a loopback device, or
   its addresses say so. */
bool carry_local_headers_is_local(const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum);

#endif
