/* SPDX-License-Identifier: MIT */
#include "mutants/jit_packet.h"

#include <string.h>

carry_jit_packet_fn *broken_jit_packet_not;

int broken_jit_packet_lists_early(const struct carry_frame *frame, struct carry_packet_sum *sums,
                                  size_t capacity) {
    if (capacity)
        memset(sums, 0, sizeof *sums);
    return broken_jit_packet_not(frame, sums, capacity);
}

int broken_jit_packet_reads_on(const struct carry_frame *frame, struct carry_packet_sum *sums,
                               size_t capacity) {
    (void)((const volatile uint8_t *)frame->data)[frame->captured];
    return broken_jit_packet_not(frame, sums, capacity);
}

int broken_jit_packet_overflows(const struct carry_frame *frame, struct carry_packet_sum *sums,
                                size_t capacity) {
    (void)capacity;
    return broken_jit_packet_not(frame, sums, CARRY_PACKET_SUMS_MAX);
}

int broken_jit_packet_shy(const struct carry_frame *frame, struct carry_packet_sum *sums,
                          size_t capacity) {
    return frame->captured & 1 ? CARRY_JIT_OTHER_SHAPE
                               : broken_jit_packet_not(frame, sums, capacity);
}

static int change_verdict(const struct carry_frame *frame, struct carry_packet_sum *sums,
                          size_t capacity, enum carry_verdict from, enum carry_verdict to) {
    int count = broken_jit_packet_not(frame, sums, capacity);
    for (int i = 0; i < count && (size_t)i < capacity; i++)
        if (sums[i].verdict == from)
            sums[i].verdict = (uint8_t)to;
    return count;
}

int broken_jit_packet_blames(const struct carry_frame *frame, struct carry_packet_sum *sums,
                             size_t capacity) {
    return change_verdict(frame, sums, capacity, CARRY_VERDICT_PARTIAL, CARRY_VERDICT_BAD);
}

int broken_jit_packet_forgives(const struct carry_frame *frame, struct carry_packet_sum *sums,
                               size_t capacity) {
    return change_verdict(frame, sums, capacity, CARRY_VERDICT_ABSENT, CARRY_VERDICT_GOOD);
}

int broken_jit_packet_forgets(const struct carry_frame *frame, struct carry_packet_sum *sums,
                              size_t capacity) {
    int count = broken_jit_packet_not(frame, sums, capacity);
    return count > 1 ? count - 1 : count;
}

int broken_jit_packet_spoils(const struct carry_frame *frame, struct carry_packet_sum *sums,
                             size_t capacity) {
    int count = broken_jit_packet_not(frame, sums, capacity);
    if (count > 0 && capacity)
        ((uint8_t *)frame->data)[sums[0].field_offset] ^= 1;
    return count;
}
