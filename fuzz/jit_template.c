/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes templates: writes values to fields that the input determines, unless the library refuses
 * them. Only these fields and checksums of two bytes may change. If all sums keep their places,
 * good sums must remain good or become unverifiable. frame.h describes the input.
 */
#include <carry/jit.h>

#include "frame.h"

#define FIELDS_MAX 6
#define FIELD_MAX  9

/* The state of a generator of numbers that depend on the input only. */
static uint32_t state;

static uint32_t number_below(uint32_t limit) {
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static void seed_by(const uint8_t *input, size_t size) {
    state = (uint32_t)size;
    for (size_t i = 0; i < size; i++)
        state = (state ^ input[i]) * 16777619;
}

static bool is_refused_spec(const struct carry_jit_template_spec *spec) {
    const char *text = carry_jit_template_error(spec);
    REQUIRE(!text || strncmp(text, "frame: ", 7) == 0 || strncmp(text, "fields: ", 8) == 0);
    return text != NULL;
}

/* Chooses fields that may vary, and sets them in `spec`; returns their number. */
static size_t choose_fields(struct carry_jit_template_spec *spec, struct carry_jit_field *fields) {
    size_t count = 0;
    uint32_t at = 0;
    for (unsigned i = 0; i < FIELDS_MAX; i++) {
        struct carry_jit_field field = {at + number_below(40), 1 + number_below(FIELD_MAX)};
        if (field.offset + field.size > spec->frame.captured)
            break;
        spec->fields = &field;
        spec->count = 1;
        if (!is_refused_spec(spec)) {
            fields[count++] = field;
            at = field.offset + field.size;
        }
    }
    spec->fields = fields;
    spec->count = count;
    return count;
}

/* Checks whether two sums have the same place and cover. The written values may change both. */
static bool is_same_place(const struct carry_packet_sum *a, const struct carry_packet_sum *b) {
    return a->protocol == b->protocol && a->field_offset == b->field_offset &&
           a->cover_offset == b->cover_offset && a->cover_size == b->cover_size &&
           a->pseudo_size == b->pseudo_size;
}

/* Checks whether all sums of `before` have the same places in `now`. */
static bool is_same_shape(const struct verdicts *before, const struct verdicts *now) {
    bool same = now->count >= before->count;
    for (size_t i = 0; i < before->count && same; i++)
        same = is_same_place(&before->sums[i], &now->sums[i]);
    return same;
}

/* Copies the bytes that may have changed, the fields and the sums of two bytes, from `now` to the
   frame before the change. */
static void take_changes(const struct carry_jit_template_spec *spec, const struct verdicts *sums,
                         const uint8_t *now, uint8_t *before) {
    for (size_t i = 0; i < spec->count; i++)
        memcpy(before + spec->fields[i].offset, now + spec->fields[i].offset, spec->fields[i].size);
    for (size_t i = 0; i < sums->count; i++)
        if (sums->sums[i].field_size == 2)
            memcpy(before + sums->sums[i].field_offset, now + sums->sums[i].field_offset, 2);
}

static void require_values(const struct carry_jit_template_spec *spec, const uint8_t *packet,
                           const uint8_t *values) {
    for (size_t i = 0; i < spec->count; i++) {
        REQUIRE(memcmp(packet + spec->fields[i].offset, values, spec->fields[i].size) == 0);
        values += spec->fields[i].size;
    }
}

/* Checks whether a sum is good or unverifiable: a written field may become a length that makes the
   sum unverifiable. */
static bool is_kept_sum(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_GOOD || sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
}

static void write_some_values(const struct carry_jit_template_spec *spec,
                              carry_jit_write_fn *write) {
    struct carry_frame frame = frame_cut(&spec->frame, spec->frame.captured);
    struct carry_frame was = frame_cut(&spec->frame, spec->frame.captured);
    uint8_t values[FIELDS_MAX * FIELD_MAX];
    struct verdicts before = verdicts_of(carry_packet_check, &was, NULL, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < sizeof values; i++)
        values[i] = (uint8_t)number_below(256);
    write((uint8_t *)(uintptr_t)frame.data, values);
    require_values(spec, frame.data, values);
    struct verdicts now = verdicts_of(carry_packet_check, &frame, NULL, CARRY_PACKET_SUMS_MAX);
    take_changes(spec, &before, frame.data, (uint8_t *)(uintptr_t)was.data);
    REQUIRE(memcmp(frame.data, was.data, frame.captured) == 0);
    if (is_same_shape(&before, &now))
        for (size_t i = 0; i < before.count; i++)
            REQUIRE(before.sums[i].verdict != CARRY_VERDICT_GOOD || is_kept_sum(&now.sums[i]));
    free(before.sums);
    free(now.sums);
    frame_free(&frame);
    frame_free(&was);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    struct carry_jit_field fields[FIELDS_MAX];
    const struct carry_jit *jit;
    if (size <= HEAD_BYTES)
        return 0;
    seed_by(input, size);
    struct carry_jit_template_spec spec = {.frame = input_frame(input, size)};
    if (!choose_fields(&spec, fields))
        return 0;
    REQUIRE(!is_refused_spec(&spec));
    int error = carry_jit_template(&spec, &jit);
    REQUIRE(error == CARRY_OK || error == CARRY_ERROR_UNSUPPORTED);
    if (error)
        return 0;
    write_some_values(&spec, jit->write);
    carry_jit_release(jit);
    return 0;
}
