/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a frame. The first eight choose the link type and how much was on the wire; the
 * rest is the frame, in a buffer of exactly its size, so that sanitizers see any read outside.
 */
#include <carry/packet.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            __builtin_trap();                                                                      \
    } while (0)

struct result {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count;
};

static struct result check(const struct carry_frame *frame) {
    struct result result;
    memset(&result, 0, sizeof result); /* padding too: results are compared as bytes */
    result.count = carry_packet_check(frame, NULL, result.sums, CARRY_PACKET_SUMS_MAX);
    return result;
}

static void check_sum(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    bool unverifiable = sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
    CHECK(sum->protocol < CARRY_PROTOCOL_COUNT && sum->verdict < CARRY_VERDICT_COUNT);
    CHECK(sum->reason < CARRY_REASON_COUNT && unverifiable == (sum->reason != CARRY_REASON_NONE));
    CHECK(sum->network_offset <= sum->cover_offset && sum->cover_offset <= frame->captured);
    CHECK(sum->field_size == 4 || (sum->stored <= UINT16_MAX && sum->expected <= UINT16_MAX));
    if (unverifiable)
        return;
    CHECK(sum->field_offset >= sum->cover_offset);
    CHECK(sum->field_offset + sum->field_size <= frame->captured);
    if (sum->verdict == CARRY_VERDICT_ABSENT || sum->verdict == CARRY_VERDICT_ILLEGAL)
        return;
    CHECK(sum->cover_size <= frame->captured - sum->cover_offset);
    CHECK(sum->field_offset + sum->field_size <= sum->cover_offset + sum->cover_size);
}

/* Repairing changes the fields it lists and no others, and leaves no good sum bad. */
static void check_repair(const struct carry_frame *frame, uint8_t *data, size_t size,
                         const struct result *result) {
    struct result changes;
    uint8_t *before = malloc(size + 1);
    CHECK(before);
    memcpy(before, data, size);
    changes.count = carry_packet_fill(frame, NULL, changes.sums, CARRY_PACKET_SUMS_MAX);
    const struct result after = check(frame);
    CHECK(after.count == result->count);
    for (size_t i = 0; i < result->count; i++)
        CHECK(result->sums[i].verdict != CARRY_VERDICT_GOOD ||
              after.sums[i].verdict == CARRY_VERDICT_GOOD);
    for (size_t i = 0; i < changes.count; i++) {
        const struct carry_packet_sum *change = &changes.sums[i];
        /* Where a header is missing, its sum stands at the place of what comes instead. */
        for (size_t j = 0; j < after.count; j++)
            CHECK(after.sums[j].field_offset != change->field_offset ||
                  after.sums[j].protocol != change->protocol ||
                  after.sums[j].verdict == CARRY_VERDICT_GOOD);
        memcpy(data + change->field_offset, before + change->field_offset, change->field_size);
    }
    CHECK(memcmp(data, before, size) == 0);
    free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 8)
        return 0;
    uint32_t captured = (uint32_t)(size - 8);
    uint8_t *data = malloc(captured);
    CHECK(data || !captured);
    if (captured)
        memcpy(data, input + 8, captured);
    uint32_t beyond;
    memcpy(&beyond, input + 4, sizeof beyond);
    const struct carry_frame frame = {
        .data = data,
        .captured = captured,
        .wire = captured + beyond, /* where this wraps, it counts as `captured` */
        .linktype = (uint32_t)input[0] | (uint32_t)input[1] << 8,
    };

    const struct result first = check(&frame);
    const struct result second = check(&frame);
    CHECK(first.count <= CARRY_PACKET_SUMS_MAX && memcmp(&first, &second, sizeof first) == 0);
    for (size_t i = 0; i < first.count; i++)
        check_sum(&frame, &first.sums[i]);
    if (captured)
        check_repair(&frame, data, captured, &first);
    free(data);
    return 0;
}
