/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes packet functions that are generated at run time: the functions for the shape of the input,
 * if there are any, and functions for the shapes of earlier inputs, which may be similar. frame.h
 * describes the input.
 */
#include "harness/jit_packet.h"
#include "frame.h"

#define KEPT 8

struct kept {
    struct carry_jit_packet_spec spec;
    const struct carry_jit *jit;
};

/* The latest functions, whose specs all differ. */
static struct kept kept[KEPT];
static unsigned next;

static bool is_kept_function(const struct carry_jit_packet_spec *spec) {
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].jit && memcmp(&kept[i].spec, spec, sizeof *spec) == 0)
            return true;
    return false;
}

static void keep_function(const struct carry_jit_packet_spec *spec) {
    struct kept *place = &kept[next++ % KEPT];
    carry_jit_release(place->jit);
    place->spec = *spec;
    REQUIRE(carry_jit_packet_error(spec) == NULL);
    REQUIRE(carry_jit_packet(spec, &place->jit) == CARRY_OK);
}

static void keep_both(const struct carry_frame *frame) {
    for (uint32_t flags = 0; flags <= CARRY_JIT_FILL; flags += CARRY_JIT_FILL) {
        struct carry_jit_packet_spec spec = {.flags = flags};
        if (carry_jit_packet_shape(frame, &spec) == CARRY_OK && !is_kept_function(&spec))
            keep_function(&spec);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < HEAD_BYTES || size > JIT_PACKET_BYTES_MAX)
        return 0;
    const struct carry_frame frame = input_frame(input, size);
    size_t known = 0;
    keep_both(&frame);
    for (unsigned i = 0; i < KEPT; i++)
        for (size_t capacity = CARRY_PACKET_SUMS_MAX; kept[i].jit && capacity; capacity /= 6)
            REQUIRE(
                jit_packet_agrees(&kept[i].spec, kept[i].jit->packet, &frame, capacity, &known));
    return 0;
}
