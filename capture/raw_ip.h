/* SPDX-License-Identifier: MIT */
/* Finds IP packets without a link header in captures that claim to have Ethernet headers, as rvictl
   of iOS and some programs write them. */
#ifndef CARRY_CAPTURE_SRC_RAW_IP_H
#define CARRY_CAPTURE_SRC_RAW_IP_H

#include <carry/capture.h>

/*
 * Checks whether a frame, in which no checksum was found, begins with an IP header in place of the
 * Ethernet header that its link type demands. A good checksum anywhere in the IP packet
 * shows this. Fewer than one in a million other frames pass.
 */
bool carry_raw_ip_is_in_ethernet(const struct carry_frame *frame);

#endif
