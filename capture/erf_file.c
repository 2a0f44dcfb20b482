/* SPDX-License-Identifier: MIT */
/*
 * Reads the Extensible Record Format of Endace's cards ("ERF types reference guide"): records
 * without a file header. Each record becomes a packet of LINKTYPE_ERF unchanged, because libcarry
 * can walk through such packets.
 *
 * A record begins with the time (32 bits of fraction, then 32 bits of seconds, lowest byte first),
 * the type, flags, the size of the record, a counter and the size on the wire. Extension headers of
 * 8 bytes follow while the top bit of the type, or of the previous extension header, is set. The
 * type's own header follows last.
 */
#include "format.h"
#include "magic.h"

#define LINKTYPE_ERF  197
#define HEADER_BYTES  16
#define MORE_HEADERS  0x80
#define TYPE_MASK     0x7f
#define TYPE_LAST     29
#define TYPE_PADDING  48
#define FLAGS_UNUSED  0xc0
#define NS_PER_SECOND UINT64_C(1000000000)

/* Size of each type's own header in bytes, such as two bytes before an Ethernet frame, or a
   multichannel header. */
static const uint8_t own_headers[TYPE_LAST + 1] = {
    [2] = 2, [11] = 2, [16] = 2, [20] = 2, [5] = 4,  [6] = 4,
    [7] = 4, [8] = 4,  [9] = 4,  [12] = 4, [17] = 4, [18] = 4,
};

static uint8_t record_type(const uint8_t *record) {
    return record[8] & TYPE_MASK;
}

static uint32_t erf_record_size(const uint8_t *record) {
    return load16_network(record + 10);
}

static uint32_t record_seconds(const uint8_t *record) {
    return (uint32_t)record[7] << 24 | (uint32_t)record[6] << 16 | (uint32_t)record[5] << 8 |
           record[4];
}

/* Returns the time of a record, rounded to the nearest nanosecond. */
static uint64_t record_time(const uint8_t *record) {
    const uint64_t fraction = (uint32_t)record[3] << 24 | (uint32_t)record[2] << 16 |
                              (uint32_t)record[1] << 8 | record[0];
    return record_seconds(record) * NS_PER_SECOND +
           ((fraction * NS_PER_SECOND + (UINT64_C(1) << 31)) >> 32);
}

/* Returns the size of all headers of a record of `size` bytes, or 0 if they do not fit in the
   record. */
static uint32_t header_bytes(const uint8_t *record, uint32_t size) {
    uint32_t bytes = HEADER_BYTES;
    for (uint8_t more = record[8]; more & MORE_HEADERS; bytes += 8) {
        if (bytes + 8 > size)
            return 0;
        more = record[bytes];
    }
    if (record_type(record) <= TYPE_LAST)
        bytes += own_headers[record_type(record)];
    return bytes <= size ? bytes : 0;
}

static int emit_record(struct carry_capture *capture, const uint8_t *record,
                       struct carry_capture_packet *packet) {
    const uint32_t size = erf_record_size(record), headers = header_bytes(record, size);
    if (!headers)
        return carry_format_damage(capture, "record of %u bytes is shorter than its headers", size);
    const uint32_t wire = headers + load16_network(record + 14);
    *packet = (struct carry_capture_packet){
        .data = record,
        .captured = size < wire ? size : wire,
        .wire = wire,
        .linktype = LINKTYPE_ERF,
        .time_ns = record_time(record),
        .offset = capture->record,
    };
    return CARRY_CAPTURE_PACKET;
}

static int next_erf_record(struct carry_capture *capture, struct carry_capture_packet *packet) {
    struct input *input = &capture->input;
    const uint8_t *record;
    do {
        capture->record = carry_input_offset(input);
        record = carry_input_peek(input, HEADER_BYTES);
        if (!record)
            return carry_format_cut(capture, "record header", HEADER_BYTES);
        if (carry_magic_is_begin(record))
            return carry_format_second(capture);
        const uint32_t size = erf_record_size(record);
        if (size < HEADER_BYTES)
            return carry_format_damage(capture, "record claims %u bytes", size);
        record = carry_input_peek(input, size);
        if (!record)
            return carry_format_cut(capture, "record", size);
        input->at += size;
    } while (record_type(record) == TYPE_PADDING);
    return emit_record(capture, record, packet);
}

/* --- Recognition --- */

/*
 * The most records that are examined. As there is no magic number, each must look like a record
 * that a card writes. Of random data, one in 20 passes as a first record, and one in 125,000 as a
 * further record.
 */
#define RECORDS_EXAMINED 4

/* The most bytes that are examined. They include records of padding, which do not count as
   records. */
#define EXAMINED_BYTES ((size_t)1 << 18)

/* The start of 1995, in seconds since 1970. ERF's clock counts from 1970 to 2106, but no card is
   older than 1995. */
#define YEAR_1995 788918400u

/* Limits, in seconds, between the times of successive records: a card does not read its ports in
   the order of time. */
#define SECONDS_BACK  1
#define SECONDS_AHEAD (7 * 24 * 3600)

static bool is_plausible(const uint8_t *record) {
    return record_seconds(record) >= YEAR_1995 && record_type(record) >= 1 &&
           record_type(record) <= TYPE_LAST && !(record[9] & FLAGS_UNUSED) &&
           erf_record_size(record) > HEADER_BYTES && load16_network(record + 14);
}

static bool may_follow(uint32_t before, uint32_t seconds) {
    return seconds - before + SECONDS_BACK <= SECONDS_BACK + SECONDS_AHEAD;
}

static bool is_padding(const uint8_t *record) {
    return record_type(record) == TYPE_PADDING && erf_record_size(record) >= HEADER_BYTES;
}

/* Recognises several records in a row (the last may be truncated), or a single record that ends
   where the file ends. */
format_next_fn *carry_erf_recognise(struct carry_capture *capture, const uint8_t *magic) {
    (void)magic;
    struct input *input = &capture->input;
    size_t at = 0, found = 0;
    uint32_t before = 0;
    const uint8_t *bytes;
    while (found < RECORDS_EXAMINED && at < EXAMINED_BYTES &&
           (bytes = carry_input_peek(input, at + HEADER_BYTES))) {
        const uint32_t seconds = record_seconds(bytes + at);
        if (is_padding(bytes + at)) {
            at += erf_record_size(bytes + at);
            continue;
        }
        if (!is_plausible(bytes + at) || (found && !may_follow(before, seconds)))
            return NULL;
        before = seconds;
        at += erf_record_size(bytes + at);
        found++;
    }
    return found > 1 || (found && carry_input_held(input) == at) ? next_erf_record : NULL;
}
