/* SPDX-License-Identifier: MIT */
/* Why a checksum got its verdict, in sentences for people. */
#ifndef CARRY_TOOLS_WHY_H
#define CARRY_TOOLS_WHY_H

#include <carry/packet.h>

/* One sentence; never NULL. */
const char *why_verdict(const struct carry_frame *frame, const struct carry_packet_sum *sum);

/* By which of the rules that are in use the sum was judged; NULL where there is one only. */
const char *why_rule(const struct carry_frame *frame, const struct carry_packet_sum *sum);

#endif
