/* SPDX-License-Identifier: MIT */
/*
 * The input of targets that take a frame: a head of eight bytes, then the frame.
 *
 *     0  the link type, 16 bits
 *     2  the flags of the options, 8 bits
 *     3  the verdicts to repair, 8 bits
 *     4  bytes on the wire beyond the captured bytes, 32 bits; if the sum wraps, there are none
 *
 * Numbers in the head are little-endian.
 */
#ifndef CARRY_FUZZ_FRAME_H
#define CARRY_FUZZ_FRAME_H

#include <string.h>

#include <carry/packet.h>

#include "fuzz.h"

#define HEAD_BYTES 8

enum { HEAD_LINKTYPE = 0, HEAD_FLAGS = 2, HEAD_FIX = 3, HEAD_BEYOND = 4 };

static inline uint32_t head_number(const uint8_t *bytes, unsigned size) {
    uint32_t value = 0;
    while (size--)
        value = value << 8 | bytes[size];
    return value;
}

/* Returns the frame within an input of at least HEAD_BYTES. */
static inline struct carry_frame input_frame(const uint8_t *input, size_t size) {
    uint32_t captured = (uint32_t)(size - HEAD_BYTES);
    return (struct carry_frame){
        .data = input + HEAD_BYTES,
        .captured = captured,
        .wire = captured + head_number(input + HEAD_BEYOND, 4),
        .linktype = head_number(input + HEAD_LINKTYPE, 2),
    };
}

static inline struct carry_packet_options input_options(const uint8_t *input) {
    return (struct carry_packet_options){.flags = input[HEAD_FLAGS], .fix = input[HEAD_FIX]};
}

/* Copies the first `captured` bytes of a frame to memory of exactly that size; free it with
   frame_free(). The cut frame has at least frame->captured bytes on the wire. */
static inline struct carry_frame frame_cut(const struct carry_frame *frame, uint32_t captured) {
    struct carry_frame cut = *frame;
    void *copy = malloc(captured);
    REQUIRE(copy || !captured);
    if (captured)
        memcpy(copy, frame->data, captured);
    cut.data = copy;
    cut.captured = captured;
    if (cut.wire < frame->captured)
        cut.wire = frame->captured;
    return cut;
}

static inline void frame_free(const struct carry_frame *frame) {
    free((void *)frame->data);
}

/* The sums that verdicts_of() gets from the library, in memory for exactly its `capacity`. */
struct verdicts {
    struct carry_packet_sum *sums;
    size_t count;
};

typedef size_t sums_fn(const struct carry_frame *frame, const struct carry_packet_options *options,
                       struct carry_packet_sum *sums, size_t capacity);

static inline struct verdicts verdicts_of(sums_fn *function, const struct carry_frame *frame,
                                          const struct carry_packet_options *options,
                                          size_t capacity) {
    struct verdicts verdicts = {.sums = malloc(capacity * sizeof(struct carry_packet_sum))};
    REQUIRE(verdicts.sums || !capacity);
    verdicts.count = function(frame, options, verdicts.sums, capacity);
    return verdicts;
}

#endif
