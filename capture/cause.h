/* SPDX-License-Identifier: MIT */
/* Finds the cause of a bad, illegal or partial sum, for summaries and reports. */
#ifndef CARRY_CAPTURE_SRC_CAUSE_H
#define CARRY_CAPTURE_SRC_CAUSE_H

#include <carry/capture.h>

struct evidence {
    uint32_t cause;     /* enum carry_capture_cause */
    uint32_t certainty; /* enum carry_capture_certainty */
    uint32_t bit;       /* the bit that flipped, for the cause ONE_BIT */
};

/* Returns the cause of sum `index`, as the packet itself shows it. `sums` are all `count` sums of
   its frame. */
struct evidence carry_cause_find(const struct carry_capture_packet *packet,
                                 const struct carry_packet_sum *sums, size_t count, size_t index);

/* Checks whether the packet's flags say that a sum was left to the card, though all its sums are
   good or bad. */
bool carry_cause_contradicts(const struct carry_capture_packet *packet,
                             const struct carry_packet_sum *sums, size_t count);

/* Returns the cause that the bytes of a frame show, without regard to the packet's flags. */
enum carry_capture_cause carry_cause_of(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* Returns the stored value minus the expected value in ones'-complement arithmetic, modulo 65535.
   Returns UINT32_MAX if the field does not have two bytes. */
uint32_t carry_cause_difference(const struct carry_packet_sum *sum);

/* Lists the values that would be right under assumptions, and returns how many. If the evidence of
   `cause` is in the frame, lists only the assumptions of its test that the stored value fits;
   otherwise lists the assumptions of all tests. */
size_t carry_cause_assume(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                          unsigned cause,
                          struct carry_capture_assumption list[CARRY_CAPTURE_ASSUMPTIONS]);

/* Checks whether a flow shows this cause. */
bool carry_cause_is_of_flow(unsigned cause);

/* Turns a bad sum of cause ZERO into a partial one. carry_cause_left() returns the evidence for
   this: the cause BY_SENDER. */
void carry_cause_leave(struct carry_packet_sum *sum);
struct evidence carry_cause_left(void);

#endif
