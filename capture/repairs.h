/* SPDX-License-Identifier: MIT */
/* Counts the sums of a capture that were repaired, and, by reason, the sums that were left
   unrepaired. */
#ifndef CARRY_CAPTURE_SRC_REPAIRS_H
#define CARRY_CAPTURE_SRC_REPAIRS_H

#include <carry/capture.h>

/* Indices of reasons, without a gap between the two kinds of enum carry_capture_left. */
#define LEFT_OWN   (CARRY_CAPTURE_LEFT_WRITTEN + 1)
#define LEFT_SLOTS (LEFT_OWN + CARRY_CAPTURE_REASSEMBLY_COUNT)

static inline unsigned left_slot(unsigned left) {
    return left < LEFT_OWN ? left : LEFT_OWN + left - CARRY_CAPTURE_LEFT_DATAGRAM;
}

static inline unsigned left_of(unsigned slot) {
    return slot < LEFT_OWN ? slot : CARRY_CAPTURE_LEFT_DATAGRAM + slot - LEFT_OWN;
}

static inline bool left_is_known(unsigned left) {
    return left < LEFT_OWN ||
           (left >= CARRY_CAPTURE_LEFT_DATAGRAM && left < CARRY_CAPTURE_LEFT_COUNT);
}

struct carry_capture_repairs {
    struct carry_capture_repair_totals totals;
    uint64_t repaired[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT]; /* by verdict before the repair */
    uint64_t left[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];     /* by the verdict in the copy */
    struct carry_capture_group reasons[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT][LEFT_SLOTS];
};

/* Counts a sum that is left unrepaired. */
void carry_repairs_leave(struct carry_capture_repairs *repairs,
                         const struct carry_capture_change *left);

/* Count IPv4 headers that are left unrepaired, in two steps: their verdicts are not yet known in
   the first step. */
void carry_group_add(struct carry_capture_group *group, uint64_t number);
void carry_repairs_leave_headers(struct carry_capture_repairs *repairs, unsigned verdict,
                                 unsigned why, const struct carry_capture_group *headers);

/* Computes the totals at the end. */
void carry_repairs_total(struct carry_capture_repairs *repairs);

#endif
