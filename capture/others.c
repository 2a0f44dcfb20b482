/* SPDX-License-Identifier: MIT */
#include "others.h"

#include "cause.h"

void carry_others_add(struct others *others, uint64_t number, const struct carry_packet_sum *sum) {
    if (others->count <= CARRY_CAPTURE_OTHERS)
        others->list[others->count++] =
            (struct carry_capture_other){.number = number,
                                         .stored = sum->stored,
                                         .expected = sum->expected,
                                         .difference = carry_cause_difference(sum)};
}

size_t carry_others_append(const struct others *others, uint64_t number,
                           struct carry_capture_other list[CARRY_CAPTURE_OTHERS], size_t count) {
    for (size_t i = 0; i < others->count && count < CARRY_CAPTURE_OTHERS; i++)
        if (others->list[i].number != number)
            list[count++] = others->list[i];
    return count;
}
