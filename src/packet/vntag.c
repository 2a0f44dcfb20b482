/* SPDX-License-Identifier: MIT */
/* Cisco's VN-Tag: the virtual interfaces that a frame is from and to, 4 bytes, then a type field.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_vntag(struct carry_walk *walk) {
    return carry_walk_typed(walk, 6);
}
