/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the repair of a frame's sums: bytes change only where the repair reports changes, good
 * sums stay good, and a second repair reports no changes. frame.h describes the input.
 */
#include "frame.h"

#define CAPACITY CARRY_PACKET_SUMS_MAX

static struct verdicts judge_input(const struct carry_frame *frame,
                                   const struct carry_packet_options *options) {
    return verdicts_of(carry_packet_check, frame, options, CAPACITY);
}

static uint32_t field_at(const uint8_t *data, const struct carry_packet_sum *sum) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < sum->field_size; i++)
        value = value << 8 | data[sum->field_offset + i];
    return value;
}

/* Undoes the changes, the last one first, and requires that the result is the original frame. */
static void check_changes(const struct carry_frame *before, const struct carry_frame *after,
                          const struct verdicts *changes) {
    uint8_t *data = (uint8_t *)frame_cut(after, after->captured).data;
    for (size_t i = changes->count; i-- > 0;) {
        const struct carry_packet_sum *change = &changes->sums[i];
        REQUIRE(field_at(data, change) == change->expected);
        memcpy(data + change->field_offset, (const uint8_t *)before->data + change->field_offset,
               change->field_size);
        REQUIRE(field_at(data, change) == change->stored);
    }
    REQUIRE(!before->captured || memcmp(data, before->data, before->captured) == 0);
    free(data);
}

/* Finds the verdict on a sum by its place and protocol: sums of different protocols may have the
   same place. */
static const struct carry_packet_sum *find_verdict(const struct verdicts *verdicts,
                                                   const struct carry_packet_sum *sum) {
    for (size_t i = 0; i < verdicts->count; i++)
        if (verdicts->sums[i].field_offset == sum->field_offset &&
            verdicts->sums[i].protocol == sum->protocol)
            return &verdicts->sums[i];
    return NULL;
}

static void check_verdicts(const struct verdicts *before, const struct verdicts *after,
                           const struct verdicts *changes, uint32_t wanted) {
    REQUIRE(after->count == before->count);
    for (size_t i = 0; i < before->count; i++) {
        const struct carry_packet_sum *a = &before->sums[i], *b = &after->sums[i];
        REQUIRE(a->protocol == b->protocol && a->field_offset == b->field_offset);
        REQUIRE(a->verdict != CARRY_VERDICT_GOOD || b->verdict == CARRY_VERDICT_GOOD);
    }
    for (size_t i = 0; i < changes->count; i++) {
        const struct carry_packet_sum *was = find_verdict(before, &changes->sums[i]);
        const struct carry_packet_sum *is = find_verdict(after, &changes->sums[i]);
        REQUIRE(was && !was->quoted && was->verdict == changes->sums[i].verdict);
        REQUIRE(was->verdict == CARRY_VERDICT_GOOD || wanted >> was->verdict & 1);
        REQUIRE(is && is->verdict == CARRY_VERDICT_GOOD);
    }
}

static void check_repair(sums_fn *repair, uint32_t wanted, const struct carry_frame *frame,
                         const struct carry_packet_options *options) {
    const struct carry_frame copy = frame_cut(frame, frame->captured);
    const struct verdicts before = judge_input(frame, options);
    const struct verdicts changes = verdicts_of(repair, &copy, options, CAPACITY);
    const struct verdicts after = judge_input(&copy, options);
    REQUIRE(changes.count <= before.count);
    check_changes(frame, &copy, &changes);
    check_verdicts(&before, &after, &changes, options->fix ? options->fix : wanted);
    REQUIRE(repair(&copy, options, NULL, 0) == 0);
    free(after.sums);
    free(changes.sums);
    free(before.sums);
    frame_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < HEAD_BYTES)
        return 0;
    const struct carry_frame whole = input_frame(input, size);
    const struct carry_frame frame = frame_cut(&whole, whole.captured);
    const struct carry_packet_options options = input_options(input);
    const uint32_t wrong =
        1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_PARTIAL | 1u << CARRY_VERDICT_ILLEGAL;
    check_repair(carry_packet_fix, wrong, &frame, &options);
    check_repair(carry_packet_fill, ~0u, &frame, &options);
    frame_free(&frame);
    return 0;
}
