/* SPDX-License-Identifier: MIT */
/* Finds the cause of a bad, illegal or partial sum, for summaries and reports. */
#ifndef CARRY_CAPTURE_SRC_CAUSE_H
#define CARRY_CAPTURE_SRC_CAUSE_H

#include <carry/capture.h>

struct evidence {
    uint32_t cause;     /* enum carry_capture_cause */
    uint32_t certainty; /* enum carry_capture_certainty */
    uint32_t bit;       /* of ONE_BIT */
};

/* Returns the cause of sum `index`, as the packet itself shows it. `sums` are all `count` sums of
   its frame. */
struct evidence carry_cause_find(const struct carry_capture_packet *packet,
                                 const struct carry_packet_sum *sums, size_t count, size_t index);

/* Returns true if the packet's flags say that a sum was left to the card, though all its sums are
   good or bad. */
bool carry_cause_contradicts(const struct carry_capture_packet *packet,
                             const struct carry_packet_sum *sums, size_t count);

/* Returns the cause that the bytes of a frame show, without regard to the packet's flags. */
enum carry_capture_cause carry_cause_of(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* Returns the stored value minus the expected one in ones'-complement arithmetic: modulo 65535.
   UINT32_MAX if the field does not have two bytes. */
uint32_t carry_cause_difference(const struct carry_packet_sum *sum);

/* Turns a bad sum of cause ZERO into a partial one; carry_cause_left() returns its new cause,
   BY_SENDER. */
void carry_cause_leave(struct carry_packet_sum *sum);
struct evidence carry_cause_left(void);

#endif
