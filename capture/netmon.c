/* SPDX-License-Identifier: MIT */
/*
 * Reads the formats of Microsoft's Network Monitor (its help describes version 2): a file header,
 * frames, and then a table with the offset of each frame. All numbers have their lowest byte
 * first.
 *
 * Only the table shows where frames are: there are gaps between them, and the first frame in the
 * file may be the last in the table. So the reader holds all bytes up to the table's end, and
 * refuses larger files.
 */
#include "format.h"
#include "magic.h"

#define FILE_HEADER_BYTES 128
#define HELD_MAX          (64u << 20)
#define ENTRY_BYTES       4

/* Sizes of the trailers of frames, by the minor version of format 2. Trailers hold the network
   type, and in later versions the number of a process, the time and a time zone. */
static const uint32_t trailers[] = {0, 2, 6, 15};

enum { MINOR_TIME = 3, TRAILER_TIME = 6 };

/* Network types of frames that are not packets: headers of reassembled data, networks, names. Other
   network types of Network Monitor's own count as unknown link types. */
enum { NOT_PACKETS = 0xfffc, NOT_PACKETS_LAST = 0xfffe };

/* The bits of a link type without a LINKTYPE_ value: "NM" and the network type. */
#define PRIVATE 0x4e4d0000u

/* LINKTYPE_ values, and the range of network types that contain such a value. Network types from
   OWN to OWN_LAST, within this range, have other meanings. */
enum { LINK_ETHERNET = 1, LINK_TOKEN_RING = 6, LINK_FDDI = 10, LINK_RAW = 101, LINK_WIFI = 105 };
enum { OF_PCAP = 0xe000, OF_PCAP_LAST = 0xefff, OWN = 0xe080, OWN_LAST = 0xe08a };

/* The network type for IEEE 802.11. Each packet follows a header that begins with its version and
   its size. */
#define WIFI         6
#define WIFI_VERSION 2

static uint32_t network_link(uint16_t network) {
    static const uint8_t links[] = {
        LINK_ETHERNET, LINK_ETHERNET, LINK_TOKEN_RING, LINK_FDDI, 0, 0,
        LINK_WIFI,     LINK_RAW, /* tunnels */
        LINK_RAW,                /* wide area networks */
        LINK_RAW,                /* packets without a link header */
    };
    if (network < sizeof links && links[network])
        return links[network];
    if (network >= OF_PCAP && network <= OF_PCAP_LAST && (network < OWN || network > OWN_LAST))
        return network - OF_PCAP;
    return PRIVATE | network;
}

/* --- Time --- */

#define SECONDS_PER_DAY 86400
#define NS_PER_SECOND   UINT64_C(1000000000)

/* Returns the days from 1970 to a day of the Gregorian calendar, from 1970 on. */
static uint64_t days_since_1970(uint32_t year, uint32_t month, uint32_t day) {
    static const uint16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const uint32_t last = year - 1;
    const uint32_t leap_days = last / 4 - last / 100 + last / 400 - (1969 / 4 - 1969 / 100 + 4);
    return (year - 1970) * 365u + leap_days + before[month - 1] + (is_leap && month > 2) + day - 1;
}

/* Returns the time at which the capture began, from year, month, day of the week, day, hour,
   minute, second and millisecond; 0 if it is not known. The file does not name the time zone. */
static uint64_t start_ns(const uint8_t *time) {
    const uint32_t year = load16_lowest(time), month = load16_lowest(time + 2);
    if (year < 1970 || year > 2500 || month < 1 || month > 12)
        return 0;
    const uint64_t days = days_since_1970(year, month, load16_lowest(time + 6));
    const uint64_t seconds = days * SECONDS_PER_DAY + load16_lowest(time + 8) * 3600u +
                             load16_lowest(time + 10) * 60u + load16_lowest(time + 12);
    return seconds * NS_PER_SECOND + load16_lowest(time + 14) * UINT64_C(1000000);
}

/* Returns the time of a count of 100 ns since 1601; 0 if it is before 1970 or after 2500. */
static uint64_t file_time_ns(uint64_t ticks) {
    const uint64_t year_1970 = UINT64_C(116444736000000000);
    const uint64_t year_2500 = UINT64_C(283686624000000000);
    return ticks < year_1970 || ticks > year_2500 ? 0 : (ticks - year_1970) * 100;
}

/* --- Frames --- */

/* A frame that the table names. */
struct frame {
    const uint8_t *header;
    uint32_t at, captured, wire;
};

static int refuse_frame(struct carry_capture *capture, uint32_t at) {
    return carry_format_damage(capture, "the frame table names offset %u, where no frame fits", at);
}

/* Finds the next frame. All frames together may not be larger than the part of the file that holds
   them, so that a table cannot list the same frame many times. Returns CARRY_OK, or an error. */
static int find_frame(struct carry_capture *capture, struct frame *frame) {
    struct netmon *netmon = &capture->netmon;
    const uint8_t *file = capture->input.at;
    capture->record = netmon->table + (uint64_t)netmon->next * ENTRY_BYTES;
    const uint32_t at = load32_lowest(file + capture->record);
    if (at < FILE_HEADER_BYTES || at > netmon->table ||
        netmon->table - at < netmon->record_header + netmon->trailer)
        return refuse_frame(capture, at);
    frame->at = at;
    frame->header = file + at;
    const bool is_old = netmon->record_header == 8;
    frame->wire = is_old ? load16_lowest(frame->header + 4) : load32_lowest(frame->header + 8);
    frame->captured = is_old ? load16_lowest(frame->header + 6) : load32_lowest(frame->header + 12);
    const uint64_t size = (uint64_t)netmon->record_header + frame->captured + netmon->trailer;
    netmon->used += size;
    if (frame->captured > CARRY_CAPTURE_PACKET_MAX || at + size > netmon->table)
        return refuse_frame(capture, at);
    if (netmon->used > netmon->table - FILE_HEADER_BYTES)
        return carry_format_damage(capture, "the frame table names overlapping frames");
    return CARRY_OK;
}

/* Returns the time of a frame: from its trailer if the trailer has a time, else from the count of
   milliseconds or microseconds since the start, which may be negative; 0 if it is not known. */
static uint64_t frame_ns(const struct netmon *netmon, const struct frame *frame) {
    const uint8_t *trailer = frame->header + netmon->record_header + frame->captured;
    if (netmon->trailer > TRAILER_TIME)
        return file_time_ns(load64_lowest(trailer + TRAILER_TIME));
    if (!netmon->start_ns)
        return 0;
    if (netmon->record_header == 8)
        return netmon->start_ns + (uint64_t)load32_lowest(frame->header) * 1000000;
    return netmon->start_ns + load64_lowest(frame->header) * 1000;
}

/* Removes the header before a packet of IEEE 802.11. */
static void skip_wifi_header(struct carry_capture_packet *packet) {
    if (packet->captured < 3 || packet->data[0] != WIFI_VERSION)
        return;
    const uint32_t size = load16_lowest(packet->data + 1);
    if (size < 3 || size > packet->captured || size > packet->wire)
        return;
    packet->data += size;
    packet->offset += size;
    packet->captured -= size;
    packet->wire -= size;
}

static void emit_frame(const struct netmon *netmon, const struct frame *frame, uint16_t network,
                       struct carry_capture_packet *packet) {
    *packet = (struct carry_capture_packet){
        .data = frame->header + netmon->record_header,
        .captured = frame->captured,
        .wire = frame->wire,
        .linktype = network_link(network),
        .time_ns = frame_ns(netmon, frame),
        .offset = (uint64_t)frame->at + netmon->record_header,
    };
    if (network == WIFI)
        skip_wifi_header(packet);
}

/* Ends the capture. Reports a second capture if one begins after the table; otherwise skips the
   bytes after the table: comments, and names of programs. */
static int end_netmon(struct carry_capture *capture) {
    struct input *input = &capture->input;
    const struct netmon *netmon = &capture->netmon;
    input->at += netmon->table + (size_t)netmon->count * ENTRY_BYTES;
    capture->record = carry_input_offset(input);
    const uint8_t *behind = carry_input_peek(input, CAPTURE_BEGIN_BYTES);
    if (behind && carry_magic_is_begin(behind))
        return carry_format_second(capture);
    while (carry_input_skip(input, WINDOW_BYTES))
        ;
    capture->record = input->end_offset;
    return carry_format_cut(capture, "file", 0);
}

static int next_netmon_frame(struct carry_capture *capture, struct carry_capture_packet *packet) {
    struct netmon *netmon = &capture->netmon;
    for (; netmon->next < netmon->count; netmon->next++) {
        struct frame frame = {0};
        const int code = find_frame(capture, &frame);
        if (code != CARRY_OK)
            return code;
        uint16_t network = netmon->network;
        if (netmon->trailer)
            network = load16_lowest(frame.header + netmon->record_header + frame.captured);
        if (network >= NOT_PACKETS && network <= NOT_PACKETS_LAST)
            continue;
        netmon->next++;
        emit_frame(netmon, &frame, network, packet);
        return CARRY_CAPTURE_PACKET;
    }
    return end_netmon(capture);
}

/* --- The file header --- */

/* Sets the sizes of a frame's header and trailer. Returns false if the version is unknown. */
static bool set_version(struct netmon *netmon, uint8_t major, uint8_t minor) {
    netmon->record_header = major == 1 ? 8 : 16;
    netmon->trailer = 0;
    if (major == 2)
        netmon->trailer = trailers[minor < MINOR_TIME ? minor : MINOR_TIME];
    return major == 1 || major == 2;
}

/* Finds the table, and holds the file up to its end. */
static int hold_file(struct carry_capture *capture, const uint8_t *header) {
    struct netmon *netmon = &capture->netmon;
    const uint32_t at = load32_lowest(header + 24), size = load32_lowest(header + 28);
    const uint64_t end = (uint64_t)at + size;
    if (at < FILE_HEADER_BYTES || size % ENTRY_BYTES)
        return carry_format_damage(capture, "frame table of %u bytes at offset %u", size, at);
    if (end > HELD_MAX)
        return carry_format_stop(capture, CARRY_ERROR_UNRECOGNISED,
                                 "a Network Monitor file of %llu bytes, above the limit of %u",
                                 (unsigned long long)end, HELD_MAX);
    if (!carry_input_peek(&capture->input, (size_t)end))
        return carry_format_cut(capture, "file", end);
    netmon->table = at;
    netmon->count = size / ENTRY_BYTES;
    netmon->next = 0;
    netmon->used = 0;
    return CARRY_OK;
}

static int read_netmon_header(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint8_t *header = carry_input_peek(&capture->input, FILE_HEADER_BYTES);
    if (!header)
        return carry_format_cut(capture, "file header", FILE_HEADER_BYTES);
    if (!set_version(&capture->netmon, header[5], header[4]))
        return carry_format_damage(capture, "unknown Network Monitor version %u.%u", header[5],
                                   header[4]);
    capture->netmon.network = load16_lowest(header + 6);
    capture->netmon.start_ns = start_ns(header + 8);
    const int code = hold_file(capture, header);
    if (code != CARRY_OK)
        return code;
    capture->next = next_netmon_frame;
    return next_netmon_frame(capture, packet);
}

format_next_fn *carry_netmon_recognise(struct carry_capture *capture, const uint8_t *magic) {
    (void)capture;
    return memcmp(magic, NETMON_MAGIC, 4) == 0 ? read_netmon_header : NULL;
}

format_next_fn *carry_netmon1_recognise(struct carry_capture *capture, const uint8_t *magic) {
    (void)capture;
    return memcmp(magic, NETMON1_MAGIC, 4) == 0 ? read_netmon_header : NULL;
}
