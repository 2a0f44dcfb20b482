/* SPDX-License-Identifier: MIT */
/* Tests how formats are recognised, and the frames of Network Monitor. Tests in Python cover files
   of all formats. */
#include <string.h>

#include "harness/captures.h"
#include "harness/tap.h"

/* --- Recognising formats --- */

/* Returns the problem of a capture of snoop with 24 bytes behind it, of which `head` are the first
   12. */
static struct carry_capture_error problem_behind_snoop(const char *head) {
    struct bytes snoop = make_snoop();
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    sink.write(&bowl, snoop.data, snoop.size);
    sink.write(&bowl, head, 12);
    sink.write(&bowl, "\0\0\0\0\0\0\0\0\0\0\0", 12);
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET)
        continue;
    const struct carry_capture_error error = *carry_capture_last_error(capture);
    carry_capture_close(capture);
    bytes_free(&snoop);
    bytes_free(&bowl.bytes);
    return error;
}

static void test_second_netmon(void) {
    static const struct {
        const char *head, *name;
        bool is_second;
    } rows[] = {
        {"GMBU\3\2\1\0\xe8\7\x0c\0", "version 2.3, December 2024", true},
        {"RTSS\1\1\1\0\xe8\7\x0c\0", "version 1.1, December 2024", true},
        {"GMBU\3\1\1\0\xe8\7\x0c\0", "version 1 with the magic of 2", false},
        {"RTSS\1\2\1\0\xe8\7\x0c\0", "version 2 with the magic of 1", false},
        {"GMBU\3\2\1\0\xe8\7\x0d\0", "month 13", false},
        {"GMBU\3\2\1\0\xe8\7\1\1", "month 257", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carry_capture_error error = problem_behind_snoop(rows[i].head);
        tap_ok(TAP_EQ(error.code, CARRY_ERROR_DAMAGED) &&
                   TAP_EQ(strncmp(error.text, "a second capture", 16) == 0, rows[i].is_second),
               "Network Monitor behind another capture: %s", rows[i].name);
    }
}

/* Returns whether a file is called an event trace of Windows or, without `is_trace`, not called one
   if one of its bytes has another value. The file has `size` bytes. */
static bool is_called_trace(size_t at, uint8_t value, size_t size, bool is_trace) {
    uint8_t bytes[0x60] = {0, 0, 1, [0x36] = 4, [0x48] = 2, [0x4a] = 2, 0xc0};
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    bytes[at] = value;
    carry_capture_open_memory(bytes, size, &capture, NULL);
    const bool ok =
        TAP_EQ(carry_capture_format(capture),
               is_trace ? CARRY_CAPTURE_FORMAT_ETL : CARRY_CAPTURE_FORMAT_UNKNOWN) &&
        TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_UNRECOGNISED) &&
        TAP_EQ(strstr(carry_capture_last_error(capture)->text, "event trace") != NULL, is_trace);
    carry_capture_close(capture);
    return ok;
}

static void test_event_traces(void) {
    static const struct {
        size_t at;
        uint8_t value;
        bool is_trace;
    } rows[] = {
        {0x36, 4, true},  {0x36, 3, false}, {0x37, 1, false}, {0x48, 1, true},  {0x48, 0, false},
        {0x49, 1, false}, {0x4a, 1, true},  {0x4a, 0, false}, {0x4a, 3, false}, {0x4b, 0x80, false},
        {0x4c, 1, true},  {0x4e, 1, false}, {0x4f, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool ok = is_called_trace(rows[i].at, rows[i].value, 0x50, rows[i].is_trace);
        tap_ok(ok, "with %#x at %#zx, a file is %s event trace", rows[i].value, rows[i].at,
               rows[i].is_trace ? "an" : "no");
    }
    const bool is_unknown = is_called_trace(0, 0, 0x4f, false);
    tap_ok(is_unknown, "fewer bytes are no event trace");
}

/* --- Network Monitor --- */

#define FRAME_AT     128
#define FRAME_HEADER 16

/* A file of Network Monitor 2.0 that holds one frame and began on the first day of a month. */
struct recorded {
    uint16_t network, year, month;
    uint32_t captured, wire;
    const char *data;
};

static void put_lowest(uint8_t *at, uint32_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Returns the packet, without its bytes. */
static struct carry_capture_packet read_recorded(const struct recorded *recorded) {
    uint8_t file[256] = "GMBU";
    const uint32_t table = FRAME_AT + FRAME_HEADER + recorded->captured;
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    const struct {
        uint32_t at, value, size;
    } numbers[] = {
        {5, 2, 1},
        {6, recorded->network, 2},
        {8, recorded->year, 2},
        {10, recorded->month, 2},
        {14, 1, 2},
        {24, table, 4},
        {28, 4, 4},
        {FRAME_AT + 8, recorded->wire, 4},
        {FRAME_AT + 12, recorded->captured, 4},
        {table, FRAME_AT, 4},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_lowest(file + numbers[i].at, numbers[i].value, numbers[i].size);
    memcpy(file + FRAME_AT + FRAME_HEADER, recorded->data, recorded->captured);
    carry_capture_open_memory(file, table + 4, &capture, NULL);
    const int result = carry_capture_next(capture, &packet);
    const struct carry_capture_packet read =
        result == CARRY_CAPTURE_PACKET ? *packet : (struct carry_capture_packet){.number = 0};
    carry_capture_close(capture);
    return read;
}

static void test_times(void) {
    static const struct {
        uint16_t year, month;
        uint64_t seconds; /* 0: not known */
    } rows[] = {
        {1970, 2, 2678400}, {2000, 3, 951868800}, {2500, 1, 16725225600}, {1969, 12, 0},
        {2501, 1, 0},       {2000, 0, 0},         {2000, 13, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carry_capture_packet packet = read_recorded(&(struct recorded){
            .network = 1, .year = rows[i].year, .month = rows[i].month, .data = ""});
        tap_ok(TAP_EQ(packet.number, 1) &&
                   TAP_EQ(packet.time_ns, rows[i].seconds * UINT64_C(1000000000)),
               "a capture of month %u of %u", rows[i].month, rows[i].year);
    }
}

static void test_networks(void) {
    enum { PRIVATE = 0x4e4d0000 };
    static const struct {
        uint16_t network;
        uint32_t linktype;
    } rows[] = {
        {1, 1},
        {3, 10},
        {4, PRIVATE | 4},
        {9, 101},
        {10, PRIVATE | 10},
        {0xdfff, PRIVATE | 0xdfff},
        {0xe071, 0x71},
        {0xe080, PRIVATE | 0xe080},
        {0xe08a, PRIVATE | 0xe08a},
        {0xe08b, 0x8b},
        {0xefff, 0xfff},
        {0xf000, PRIVATE | 0xf000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_ok(
            TAP_EQ(
                read_recorded(&(struct recorded){.network = rows[i].network, .data = ""}).linktype,
                rows[i].linktype),
            "network %#x has link type %#x", rows[i].network, rows[i].linktype);
}

/* A header precedes packets of IEEE 802.11. If it is not whole, it stays. */
static void test_wifi_headers(void) {
    static const struct {
        struct recorded frame;
        uint32_t skipped;
        const char *name;
    } rows[] = {
        {{.captured = 9, .wire = 9, .data = "\2\5\0hdfour"}, 5, "whole"},
        {{.captured = 9, .wire = 99, .data = "\2\5\0hdfour"}, 5, "whole, before a cut"},
        {{.captured = 9, .wire = 9, .data = "\2\x9\0header"}, 9, "nothing else"},
        {{.captured = 9, .wire = 9, .data = "\1\5\0hdfour"}, 0, "of another version"},
        {{.captured = 2, .wire = 9, .data = "\2\5"}, 0, "cut"},
        {{.captured = 9, .wire = 9, .data = "\2\2\0hdfour"}, 0, "too short"},
        {{.captured = 9, .wire = 99, .data = "\2\xa\0header"}, 0, "longer than what was captured"},
        {{.captured = 9, .wire = 4, .data = "\2\5\0hdfour"}, 0, "longer than the packet"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recorded frame = rows[i].frame;
        frame.network = 6;
        const struct carry_capture_packet packet = read_recorded(&frame);
        tap_ok(TAP_EQ(packet.linktype, 105) &&
                   TAP_EQ(packet.captured, frame.captured - rows[i].skipped) &&
                   TAP_EQ(packet.wire, frame.wire - rows[i].skipped) &&
                   TAP_EQ(packet.offset, FRAME_AT + FRAME_HEADER + rows[i].skipped),
               "the header of IEEE 802.11 is %s", rows[i].name);
    }
}

int main(void) {
    test_second_netmon();
    test_event_traces();
    test_times();
    test_networks();
    test_wifi_headers();
    return tap_done();
}
