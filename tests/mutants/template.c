/* SPDX-License-Identifier: MIT */
#include "mutants/template.h"

#include <fenv.h>
#include <string.h>

static enum broken_template broken;
static struct carry_jit_template_spec spec;

void broken_template(enum broken_template mutant) {
    broken = mutant;
}

static void write_fields(uint8_t *packet, const uint8_t *values) {
    for (size_t i = 0; i < spec.count; i++) {
        memcpy(packet + spec.fields[i].offset, values, spec.fields[i].size);
        values += spec.fields[i].size;
    }
    if (spec.count && broken == BROKEN_TEMPLATE_READS)
        (void)*(const volatile uint8_t *)(values + 7);
    if (spec.count && broken == BROKEN_TEMPLATE_BEHIND)
        packet[spec.fields[spec.count - 1].offset + spec.fields[spec.count - 1].size] ^= 1;
}

static uint32_t load_word(const uint8_t *field) {
    return (uint32_t)field[0] << 8 | field[1];
}

static void store_word(uint8_t *field, uint32_t value) {
    field[0] = (uint8_t)(value >> 8);
    field[1] = (uint8_t)value;
}

/* Changes a checksum before it is corrected. */
static void spoil_before(uint8_t *field) {
    if (broken == BROKEN_TEMPLATE_FILLS && load_word(field) == 0)
        store_word(field, 1);
}

static void spoil_after(uint8_t *field, const struct carry_packet_sum *sum, bool is_last) {
    if (broken == BROKEN_TEMPLATE_OUTER && is_last)
        store_word(field, sum->stored);
    if (broken == BROKEN_TEMPLATE_NO_ZERO && sum->protocol == CARRY_PROTOCOL_UDP &&
        load_word(field) == 0xffff)
        store_word(field, 0);
}

static void write_broken(void *packet, const void *values) {
    write_fields(packet, values);
    if (broken == BROKEN_TEMPLATE_ROUNDS)
        fesetround(FE_UPWARD);
}

static void finish_packet(void *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_frame frame = spec.frame;
    frame.data = packet;
    size_t count = carry_packet_walk(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        spoil_before((uint8_t *)packet + sums[i].field_offset);
    if (broken != BROKEN_TEMPLATE_FORGETS)
        template_seal(&frame);
    for (size_t i = 0; i < count; i++)
        spoil_after((uint8_t *)packet + sums[i].field_offset, &sums[i], i == count - 1);
}

static int make_broken(const struct carry_jit_template_spec *template_spec,
                       const struct carry_jit **jit) {
    static struct carry_jit made;
    spec = *template_spec;
    made.write = write_broken;
    *jit = &made;
    return CARRY_OK;
}

static void release_broken(const struct carry_jit *jit) {
    (void)jit;
}

const struct template_maker broken_template_maker = {make_broken, release_broken, finish_packet};
