/* SPDX-License-Identifier: MIT */
/* Recognises sums of SCTP that are Adler-32, its checksum before RFC 3309. */
#ifndef CARRY_PACKET_ADLER32_H
#define CARRY_PACKET_ADLER32_H

#include <carry/packet.h>

/* Checks whether the sum verifies as Adler-32 (RFC 2960, appendix B). */
bool carry_is_adler32(const uint8_t *data, const struct carry_packet_sum *sum);

#endif
