/* SPDX-License-Identifier: MIT */
/* Keeps the first bad sums of each flow, so that an explanation can show them. */
#ifndef CARRY_CAPTURE_SRC_OTHERS_H
#define CARRY_CAPTURE_SRC_OTHERS_H

#include <carry/capture.h>

/* The first bad sums of one flow: one more than are shown, since one of them is explained. */
struct others {
    struct carry_capture_other list[CARRY_CAPTURE_OTHERS + 1];
    size_t count;
};

/* Adds a bad sum of packet `number`, unless enough are known. */
void carry_others_add(struct others *others, uint64_t number, const struct carry_packet_sum *sum);

/* Appends the sums that are not of packet `number` to a list of `count`. Returns the new count. */
size_t carry_others_append(const struct others *others, uint64_t number,
                           struct carry_capture_other list[CARRY_CAPTURE_OTHERS], size_t count);

#endif
