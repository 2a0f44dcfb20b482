/* SPDX-License-Identifier: MIT */
/* What is known of a sum beside its verdict: counted, and named in reports. */
#ifndef CARRY_CAPTURE_SRC_CAUSE_H
#define CARRY_CAPTURE_SRC_CAUSE_H

#include <carry/capture.h>

struct evidence {
    uint32_t cause;     /* enum carry_capture_cause */
    uint32_t certainty; /* enum carry_capture_certainty */
    uint32_t bit;       /* of ONE_BIT */
};

/* What a packet tells of sum `index`, which is not good. All sums of its frame are given. */
struct evidence carry_cause_find(const struct carry_capture_packet *packet,
                                 const struct carry_packet_sum *sums, size_t count, size_t index);

/* True if the packet says that a sum was left to the card, but no sum is. */
bool carry_cause_contradicts(const struct carry_capture_packet *packet,
                             const struct carry_packet_sum *sums, size_t count);

/* The cause that the bytes of a frame show, whatever else is known of it. */
enum carry_capture_cause carry_cause_of(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* What is stored less what is expected, in ones'-complement arithmetic: modulo 65535. */
uint32_t carry_cause_difference(const struct carry_packet_sum *sum);

/* Turns a bad sum of CAUSE_ZERO into a partial one, and its cause into BY_SENDER. */
void carry_cause_leave(struct carry_packet_sum *sum);
struct evidence carry_cause_left(void);

#endif
