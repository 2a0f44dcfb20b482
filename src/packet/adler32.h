/* SPDX-License-Identifier: MIT */
#ifndef CARRY_PACKET_ADLER32_H
#define CARRY_PACKET_ADLER32_H

#include <carry/packet.h>

/* Does the sum verify as Adler-32 (RFC 2960, appendix B), as SCTP had it before RFC 3309? */
bool carry_is_adler32(const uint8_t *data, const struct carry_packet_sum *sum);

#endif
