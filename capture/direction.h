/* SPDX-License-Identifier: MIT */
/* Finds the direction of a packet: in the packet's flags, or in the link header that the capturing
   machine wrote. */
#ifndef CARRY_CAPTURE_SRC_DIRECTION_H
#define CARRY_CAPTURE_SRC_DIRECTION_H

#include <carry/capture.h>

enum direction {
    DIRECTION_UNKNOWN,
    DIRECTION_SENT,
    DIRECTION_RECEIVED,
    DIRECTION_LOCAL, /* sent through a loopback device */
};

enum direction carry_direction_of(const struct carry_capture_packet *packet);

#endif
