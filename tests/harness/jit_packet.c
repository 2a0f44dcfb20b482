/* SPDX-License-Identifier: MIT */
#include "harness/jit_packet.h"

#include <string.h>

#include "harness/guard.h"

#define CANARY   0xa5
#define CAPACITY CARRY_PACKET_SUMS_MAX

struct answer {
    struct carry_packet_sum sums[CAPACITY];
    int count;
};

static struct guard memory_for(int which) {
    static struct guard guards[2];
    if (!guards[which].end)
        guards[which] = guard_open(JIT_PACKET_BYTES_MAX);
    return guards[which];
}

/* Returns a copy of the frame right before or right after a forbidden page. */
static struct carry_frame place_frame(const struct carry_frame *frame, int which) {
    struct guard guard = memory_for(which);
    struct carry_frame at = *frame;
    uint8_t *data = frame->captured & 1 || which ? guard.end - frame->captured : guard.start;
    at.data = memcpy(data, frame->data, frame->captured);
    return at;
}

static void answer_of_library(const struct carry_jit_packet_spec *spec,
                              const struct carry_frame *frame, size_t capacity,
                              struct answer *answer) {
    memset(answer, CANARY, sizeof *answer);
    if (spec->flags & CARRY_JIT_FILL)
        answer->count = (int)carry_packet_fill(frame, NULL, answer->sums, capacity);
    else
        answer->count = (int)carry_packet_check(frame, NULL, answer->sums, capacity);
}

/* Returns whether the library recognises the frame as one of the spec's shape. */
static bool has_shape(const struct carry_jit_packet_spec *spec, const struct carry_frame *frame) {
    struct carry_jit_packet_spec shape = {.flags = spec->flags};
    return carry_jit_packet_shape(frame, &shape) == CARRY_OK &&
           memcmp(&shape, spec, sizeof shape) == 0;
}

static bool is_untouched(const struct carry_packet_sum *sums, size_t count) {
    const uint8_t *bytes = (const uint8_t *)sums;
    for (size_t i = 0; i < count * sizeof *sums; i++)
        if (bytes[i] != CANARY)
            return false;
    return true;
}

static bool same_answer(const struct answer *a, const struct answer *b, size_t capacity) {
    size_t listed = (size_t)b->count < capacity ? (size_t)b->count : capacity;
    return a->count == b->count && memcmp(a->sums, b->sums, listed * sizeof *a->sums) == 0 &&
           is_untouched(a->sums + capacity, CAPACITY - capacity);
}

bool jit_packet_agrees(const struct carry_jit_packet_spec *spec, carry_jit_packet_fn *function,
                       const struct carry_frame *frame, size_t capacity, size_t *known) {
    struct answer mine, wanted;
    const struct carry_frame one = place_frame(frame, 0), other = place_frame(frame, 1);
    memset(&mine, CANARY, sizeof mine);
    mine.count = function(&one, mine.sums, capacity);
    if (mine.count == CARRY_JIT_OTHER_SHAPE)
        return !has_shape(spec, frame) && is_untouched(mine.sums, CAPACITY) &&
               memcmp(one.data, frame->data, frame->captured) == 0;
    ++*known;
    answer_of_library(spec, &other, capacity, &wanted);
    return same_answer(&mine, &wanted, capacity) &&
           memcmp(one.data, other.data, frame->captured) == 0;
}
