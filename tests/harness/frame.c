/* SPDX-License-Identifier: MIT */
#include "harness/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guard.h"
#include "harness/tap.h"

/* --- Making frames --- */

const struct flow flow4 = {SRC4, DST4};
const struct flow flow6 = {SRC6, DST6};

static unsigned nibble_of(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Calls `byte` for each byte of a text such as "45 00 0014". */
static void each_byte(const char *hex, void (*byte)(void *context, uint8_t value), void *context) {
    for (; *hex; hex++)
        if (*hex != ' ') {
            byte(context, (uint8_t)(nibble_of(hex[0]) << 4 | nibble_of(hex[1])));
            hex++;
        }
}

static void append_byte(void *context, uint8_t value) {
    struct frame *frame = context;
    frame->bytes[frame->size++] = value;
}

uint32_t put(struct frame *frame, const char *hex) {
    uint32_t offset = frame->size;
    each_byte(hex, append_byte, frame);
    return offset;
}

void put_many(struct frame *frame, uint32_t count, uint8_t first, uint8_t step) {
    while (count--) {
        append_byte(frame, first);
        first = (uint8_t)(first + step);
    }
}

uint32_t get16(const struct frame *frame, uint32_t offset) {
    return (uint32_t)frame->bytes[offset] << 8 | frame->bytes[offset + 1];
}

void set16(struct frame *frame, uint32_t offset, uint32_t value) {
    frame->bytes[offset] = (uint8_t)(value >> 8);
    frame->bytes[offset + 1] = (uint8_t)value;
}

void add16(struct frame *frame, uint32_t offset, uint32_t value) {
    const uint32_t sum = get16(frame, offset) + value;
    set16(frame, offset, (sum & UINT16_MAX) + (sum >> 16));
}

struct frame *start(const char *hex) {
    static struct frame frame;
    frame.size = 0;
    frame.wire = 0;
    frame.linktype = LINK_ETHERNET;
    put(&frame, hex);
    return &frame;
}

static void sum_byte(void *context, uint8_t value) {
    oracle_byte(context, value);
}

struct oracle pseudo(const struct flow *flow, uint8_t protocol, uint32_t size) {
    struct oracle oracle = oracle_start(0);
    each_byte(flow->src, sum_byte, &oracle);
    each_byte(flow->dst, sum_byte, &oracle);
    for (int shift = 24; shift >= 0; shift -= 8)
        oracle_byte(&oracle, (uint8_t)(size >> shift));
    oracle_byte(&oracle, 0);
    oracle_byte(&oracle, protocol);
    return oracle;
}

void seal(struct frame *frame, uint32_t field, uint32_t cover, uint32_t size,
          struct oracle oracle) {
    set16(frame, field, 0);
    for (uint32_t i = 0; i < size; i++)
        oracle_byte(&oracle, frame->bytes[cover + i]);
    set16(frame, field, ~(uint32_t)oracle.sum & 0xffff);
}

void seal_ip(struct frame *frame, uint32_t offset) {
    seal(frame, offset + 10, offset, (frame->bytes[offset] & 15u) * 4, oracle_start(0));
}

uint32_t put_ip_options(struct frame *frame, uint8_t protocol, uint32_t size, const char *options) {
    uint32_t offset = put(frame, "45 00 0000 1234 0000 40 00 0000" SRC4 DST4);
    put(frame, options);
    uint32_t header_size = frame->size - offset;
    frame->bytes[offset] = (uint8_t)(0x40 | header_size / 4);
    frame->bytes[offset + 9] = protocol;
    set16(frame, offset + 2, header_size + size);
    seal_ip(frame, offset);
    return offset;
}

uint32_t put_ip(struct frame *frame, uint8_t protocol, uint32_t size) {
    return put_ip_options(frame, protocol, size, "");
}

uint32_t put_ipv6(struct frame *frame, uint8_t protocol, uint32_t size) {
    uint32_t offset = put(frame, "60000000 0000 00 40" SRC6 DST6);
    set16(frame, offset + 4, size);
    frame->bytes[offset + 6] = protocol;
    return offset;
}

uint32_t put_tcp(struct frame *frame, const struct flow *flow, uint32_t size) {
    uint32_t offset = put(frame, "0050 c001 01020304 00000000 5010 ffff 0000 0000");
    put_many(frame, size, 0x31, 7);
    seal(frame, offset + 16, offset, 20 + size, pseudo(flow, TCP, 20 + size));
    return offset;
}

uint32_t put_udp(struct frame *frame, const struct flow *flow, uint32_t size) {
    uint32_t offset = put(frame, "3039 1092 0000 0000");
    set16(frame, offset + 4, 8 + size);
    put_many(frame, size, 0x31, 7);
    seal(frame, offset + 6, offset, 8 + size, pseudo(flow, UDP, 8 + size));
    return offset;
}

uint32_t put_inner(struct frame *frame, bool version6) {
    uint32_t offset = version6 ? put_ipv6(frame, TCP, 23) : put_ip(frame, TCP, 23);
    put_tcp(frame, version6 ? &flow6 : &flow4, 3);
    return offset;
}

/* --- Checking them --- */

static const struct guard *guarded_area(void) {
    static struct guard guard;
    if (!guard.end)
        guard = guard_open(FRAME_MAX);
    return &guard;
}

static struct carry_frame view_at(uint8_t *data, const struct frame *frame, uint32_t captured) {
    memcpy(data, frame->bytes, captured);
    return (struct carry_frame){
        .data = data,
        .captured = captured,
        .wire = frame->wire ? frame->wire : frame->size,
        .linktype = frame->linktype,
    };
}

struct carry_frame view_cut(const struct frame *frame, uint32_t captured) {
    return view_at(guarded_area()->end - captured, frame, captured);
}

static struct result check_view(struct carry_frame view) {
    struct result result;
    result.count = carry_packet_check(&view, NULL, result.sums, CARRY_PACKET_SUMS_MAX);
    return result;
}

struct result check_cut(const struct frame *frame, uint32_t captured) {
    return check_view(view_cut(frame, captured));
}

struct result check(const struct frame *frame) {
    return check_cut(frame, frame->size);
}

static void store_expected(struct frame *frame, const struct carry_packet_sum *sum) {
    if (sum->field_size == 4)
        set16(frame, sum->field_offset, sum->expected >> 16);
    set16(frame, sum->field_offset + sum->field_size - 2u, sum->expected);
}

bool repairs(struct frame *frame, const struct result *result) {
    bool ok = true;
    for (size_t i = 0; i < result->count; i++)
        if (result->sums[i].verdict == CARRY_VERDICT_BAD)
            store_expected(frame, &result->sums[i]);
    const struct result repaired = check(frame);
    for (size_t i = 0; i < result->count; i++)
        if (result->sums[i].verdict == CARRY_VERDICT_BAD)
            ok = ok && repaired.sums[i].verdict == CARRY_VERDICT_GOOD;
    return ok;
}

/* Returns the verdicts as text, such as "ip good, udp unverifiable/fragment". */
static const char *text_of(const struct result *result) {
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < result->count; i++) {
        const struct carry_packet_sum *sum = &result->sums[i];
        bool unverifiable = sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s%s", i ? ", " : "",
                                 carry_packet_protocol_name(sum->protocol),
                                 carry_packet_verdict_name(sum->verdict), unverifiable ? "/" : "",
                                 unverifiable ? carry_packet_reason_name(sum->reason) : "");
    }
    return text;
}

/* Checks that a cut frame yields the first sums of the whole frame, or unverifiable ones. */
static bool cut_agrees(const struct result *cut, const struct result *whole) {
    if (cut->count > whole->count)
        return false;
    for (size_t i = 0; i < cut->count; i++) {
        const struct carry_packet_sum *a = &cut->sums[i], *b = &whole->sums[i];
        bool same_place = a->protocol == b->protocol && a->field_offset == b->field_offset;
        if (!same_place || (a->verdict != b->verdict && a->verdict != CARRY_VERDICT_UNVERIFIABLE))
            return false;
    }
    return true;
}

/* Tries every cut of a small frame; of a large frame, the cuts in the headers and some others. */
static bool cuts_agree(const struct frame *frame, const struct result *whole) {
    for (uint32_t captured = 0; captured < frame->size; captured += captured < 400 ? 1 : 997) {
        struct result cut = check_cut(frame, captured);
        if (!cut_agrees(&cut, whole)) {
            tap_note("cut to %u bytes: %s", captured, text_of(&cut));
            return false;
        }
    }
    return true;
}

/* Checks the whole frame with the guard page right before it. */
static bool start_agrees(const struct frame *frame, const struct result *whole) {
    const struct result result = check_view(view_at(guarded_area()->start, frame, frame->size));
    return result.count == whole->count && cut_agrees(&result, whole);
}

/* Records a frame for other programs that judge it: link type, bytes and expected verdicts. */
static void record_frame(const struct frame *frame, const char *expected) {
    const char *path = getenv("CARRY_TEST_FRAMES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%u\t", frame->linktype);
    for (uint32_t i = 0; i < frame->size; i++)
        fprintf(file, "%02x", frame->bytes[i]);
    fprintf(file, "\t%s\n", expected);
    fclose(file);
}

void expect(const struct frame *frame, const char *expected, const char *name, ...) {
    char full_name[200];
    va_list args;
    va_start(args, name);
    vsnprintf(full_name, sizeof full_name, name, args);
    va_end(args);

    record_frame(frame, expected);
    struct result whole = check(frame);
    bool ok = strcmp(text_of(&whole), expected) == 0;
    if (!ok)
        tap_note("%s, not %s", text_of(&whole), expected);
    tap_ok(TAP_TRUE(start_agrees(frame, &whole)) && TAP_TRUE(cuts_agree(frame, &whole)) &&
               TAP_TRUE(ok),
           "%s", full_name);
}
