/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the walk over a frame, and compares its functions with each other and with a slow sum.
 * frame.h describes the input.
 */
#include "frame.h"
#include "harness/guard.h"
#include "harness/oracle.h"

#define CAPACITY CARRY_PACKET_SUMS_MAX

/* --- One sum --- */

static bool is_summed(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_GOOD || sum->verdict == CARRY_VERDICT_BAD ||
           sum->verdict == CARRY_VERDICT_PARTIAL;
}

static void check_claims(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    bool unverifiable = sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
    REQUIRE(sum->protocol < CARRY_PROTOCOL_COUNT && sum->verdict < CARRY_VERDICT_COUNT);
    REQUIRE(sum->reason < CARRY_REASON_COUNT);
    REQUIRE(unverifiable == (sum->reason != CARRY_REASON_NONE));
    REQUIRE(sum->cause != CARRY_CAUSE_HEADER ||
            (sum->protocol == CARRY_PROTOCOL_IP && !sum->stored &&
             (sum->verdict == CARRY_VERDICT_PARTIAL || sum->reason == CARRY_REASON_SNAPLEN)));
    REQUIRE(sum->cause != CARRY_CAUSE_ADLER32 || sum->verdict == CARRY_VERDICT_BAD);
    REQUIRE(sum->field_size == 2 || sum->field_size == 4);
    REQUIRE(sum->network_offset <= sum->cover_offset && sum->cover_offset <= frame->captured);
    REQUIRE(sum->field_size == 4 || (sum->stored <= UINT16_MAX && sum->expected <= UINT16_MAX));
    REQUIRE(sum->field_offset >= sum->cover_offset);
    if (unverifiable)
        return;
    REQUIRE(sum->field_offset + sum->field_size <= frame->captured);
    if (!is_summed(sum))
        return;
    REQUIRE(sum->cover_size <= frame->captured - sum->cover_offset);
    REQUIRE(sum->field_offset + sum->field_size <= sum->cover_offset + sum->cover_size);
}

/* Returns the byte at offset `at` of the cover, as if the field held `value`. */
static uint8_t byte_with(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                         uint32_t at, uint32_t value) {
    uint32_t in_field = sum->cover_offset + at - sum->field_offset;
    if (in_field < sum->field_size)
        return (uint8_t)(value >> 8 * (sum->field_size - 1 - in_field));
    return ((const uint8_t *)frame->data)[sum->cover_offset + at];
}

/* Returns the sum of the covered bytes outside the gap, computed byte by byte, as if the field held
   `value`. */
static uint32_t slow_sum(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                         const struct oracle_kind *kind, uint32_t value) {
    struct oracle oracle = kind->start(sum->pseudo);
    for (uint32_t at = 0; at < sum->cover_size; at++)
        if (at - sum->gap_offset >= sum->gap_size) /* wraps to a large number before the gap */
            kind->byte(&oracle, byte_with(frame, sum, at, value));
    return kind->value(&oracle);
}

static bool verifies_slowly(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                            uint32_t value) {
    if (sum->field_size == 4)
        return __builtin_bswap32(slow_sum(frame, sum, &oracle_crc32c, 0)) == value;
    return slow_sum(frame, sum, &oracle_internet, value) == UINT16_MAX;
}

/* Checks verdict and expected value. A sum around a partial one is expected to remain, since it is
   right for the packet that will be sent. */
static void check_arithmetic(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    bool around = sum->verdict == CARRY_VERDICT_PARTIAL && sum->expected == sum->stored;
    REQUIRE(verifies_slowly(frame, sum, sum->stored) == (sum->verdict == CARRY_VERDICT_GOOD));
    REQUIRE(around || verifies_slowly(frame, sum, sum->expected));
    REQUIRE(sum->protocol != CARRY_PROTOCOL_UDP || sum->expected);
}

static void check_sums(const struct carry_frame *frame, const struct verdicts *judged) {
    REQUIRE(judged->count <= CAPACITY);
    for (size_t i = 0; i < judged->count; i++) {
        check_claims(frame, &judged->sums[i]);
        if (is_summed(&judged->sums[i]))
            check_arithmetic(frame, &judged->sums[i]);
    }
}

/* --- A frame, judged by several functions --- */

static bool same_place(const struct carry_packet_sum *a, const struct carry_packet_sum *b) {
    return a->protocol == b->protocol && a->version == b->version && a->quoted == b->quoted &&
           a->field_offset == b->field_offset && a->field_size == b->field_size &&
           a->network_offset == b->network_offset && a->cover_offset == b->cover_offset;
}

/* Requires that a smaller capacity gives the beginning of the same list. */
static void check_capacity(const struct carry_frame *frame,
                           const struct carry_packet_options *options,
                           const struct verdicts *judged) {
    const struct verdicts fewer =
        verdicts_of(carry_packet_check, frame, options, judged->count - judged->count / 2);
    REQUIRE(fewer.count == judged->count - judged->count / 2);
    for (size_t i = 0; i < fewer.count; i++)
        REQUIRE(same_place(&fewer.sums[i], &judged->sums[i]));
    free(fewer.sums);
}

/* Requires the same verdicts from carry_packet_walk() where no sum is needed and the same bytes are
   covered. */
static void check_found(const struct carry_frame *frame, const struct carry_packet_options *options,
                        const struct verdicts *judged) {
    const struct verdicts found = verdicts_of(carry_packet_walk, frame, options, CAPACITY);
    REQUIRE(found.count == judged->count);
    for (size_t i = 0; i < found.count; i++) {
        const struct carry_packet_sum *a = &found.sums[i], *b = &judged->sums[i];
        bool needs_sum = a->verdict == CARRY_VERDICT_UNVERIFIABLE && a->reason == CARRY_REASON_NONE;
        REQUIRE(same_place(a, b) && a->stored == b->stored);
        REQUIRE(needs_sum || a->cover_size != b->cover_size || a->verdict == b->verdict);
        REQUIRE(!needs_sum || a->cover_size != b->cover_size || is_summed(b) ||
                b->reason == CARRY_REASON_QUOTED || b->cause == CARRY_CAUSE_HEADER);
    }
    free(found.sums);
}

static bool is_layer(const struct carry_packet_layer *layers, size_t count,
                     const struct carry_packet_sum *sum) {
    for (size_t i = 0; i < count; i++)
        if (layers[i].protocol == sum->protocol && layers[i].offset == sum->cover_offset)
            return true;
    return false;
}

/* Requires that the header where a sum's cover begins is listed. */
static void check_layers(const struct carry_frame *frame,
                         const struct carry_packet_options *options,
                         const struct verdicts *judged) {
    struct carry_packet_layer layers[CAPACITY];
    size_t count = carry_packet_layers(frame, options, layers, CAPACITY);
    REQUIRE(count <= CAPACITY);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(layers[i].protocol < CARRY_PROTOCOL_COUNT);
        REQUIRE(layers[i].offset <= frame->captured);
    }
    for (size_t i = 0; i < judged->count; i++)
        REQUIRE(is_layer(layers, count, &judged->sums[i]));
}

static void check_fragment(const struct carry_frame *frame,
                           const struct carry_packet_options *options,
                           const struct verdicts *judged) {
    struct carry_packet_sum sums[CAPACITY];
    struct carry_packet_fragment with, alone;
    size_t count = carry_packet_check_fragment(frame, options, sums, CAPACITY, &with);
    REQUIRE(count == judged->count);
    REQUIRE(memcmp(sums, judged->sums, count * sizeof *sums) == 0);
    carry_packet_check_fragment(frame, NULL, NULL, 0, &alone);
    if (!with.version)
        return;
    uint32_t wire = frame->wire > frame->captured ? frame->wire : frame->captured;
    REQUIRE(alone.version == with.version && alone.network_offset == with.network_offset);
    REQUIRE(with.network_offset < with.content_offset && with.content_offset <= frame->captured);
    REQUIRE(with.size <= wire - with.content_offset);
    REQUIRE(with.more || with.place);
}

/* Requires that a truncated frame shows the beginning of the same list, where verdicts may also be
   unverifiable. */
static void check_cut(const struct carry_frame *frame, const struct carry_packet_options *options,
                      const struct verdicts *judged, uint32_t captured) {
    const struct carry_frame cut = frame_cut(frame, captured);
    const struct verdicts seen = verdicts_of(carry_packet_check, &cut, options, CAPACITY);
    REQUIRE(seen.count <= judged->count);
    for (size_t i = 0; i < seen.count; i++) {
        const struct carry_packet_sum *a = &seen.sums[i], *b = &judged->sums[i];
        REQUIRE(a->protocol == b->protocol && a->field_offset == b->field_offset);
        REQUIRE(a->verdict == b->verdict || a->verdict == CARRY_VERDICT_UNVERIFIABLE);
    }
    free(seen.sums);
    frame_free(&cut);
}

/* Judges the frame in front of an unreadable page: assembly is not instrumented, so only the page
   detects its reads beyond the frame. */
static void check_guarded(const struct carry_frame *frame,
                          const struct carry_packet_options *options,
                          const struct verdicts *judged) {
    static struct guard guard;
    if (!guard.end)
        guard = guard_open(1 << 20);
    struct carry_frame guarded = *frame;
    if (frame->captured)
        guarded.data = memcpy(guard.end - frame->captured, frame->data, frame->captured);
    const struct verdicts again = verdicts_of(carry_packet_check, &guarded, options, CAPACITY);
    REQUIRE(again.count == judged->count);
    REQUIRE(memcmp(again.sums, judged->sums, again.count * sizeof *again.sums) == 0);
    free(again.sums);
}

/* Returns a number that depends on the input only. */
static uint32_t digest_input(const uint8_t *input, size_t size) {
    uint32_t value = 2166136261;
    for (size_t i = 0; i < size; i++)
        value = (value ^ input[i]) * 16777619;
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < HEAD_BYTES || size > 1 << 20)
        return 0;
    const struct carry_frame whole = input_frame(input, size);
    const struct carry_frame frame = frame_cut(&whole, whole.captured);
    const struct carry_packet_options options = input_options(input);
    const struct verdicts judged = verdicts_of(carry_packet_check, &frame, &options, CAPACITY);

    check_sums(&frame, &judged);
    check_capacity(&frame, &options, &judged);
    check_found(&frame, &options, &judged);
    check_layers(&frame, &options, &judged);
    check_fragment(&frame, &options, &judged);
    check_cut(&frame, &options, &judged, digest_input(input, size) % (frame.captured + 1));
    check_guarded(&frame, &options, &judged);
    free(judged.sums);
    frame_free(&frame);
    return 0;
}
