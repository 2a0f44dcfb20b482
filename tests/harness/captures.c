/* SPDX-License-Identifier: MIT */
#include "harness/captures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_ETHERNET 1
#define LINK_UNKNOWN  147
#define FRAME_SIZE    128
#define EXACT_MAX     ((size_t)64 << 10)

enum { IPIP = 4, TCP = 6, UDP = 17 };

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

/* --- Frames --- */

struct frame4 {
    uint8_t bytes[FRAME_SIZE];
    uint32_t size;
};

static void put_big_endian(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Returns a frame of Ethernet and IPv4 from 10.0.0.`sender`, with `size` bytes after the IPv4
   header. */
static struct frame4 make_ip(uint8_t sender, uint8_t protocol, uint32_t size) {
    struct frame4 frame = {.size = 34 + size};
    uint8_t *ip = frame.bytes + 14;
    memcpy(frame.bytes, "\2\0\0\0\0\1\2\0\0\0\0", 11);
    frame.bytes[11] = sender;
    put_big_endian(frame.bytes + 12, 0x0800);
    ip[0] = 0x45;
    put_big_endian(ip + 2, 20 + size);
    ip[8] = 64;
    ip[9] = protocol;
    memcpy(ip + 12, (uint8_t[]){10, 0, 0, sender, 10, 0, 1, 1}, 8);
    for (uint32_t i = 0; i < size; i++)
        ip[20 + i] = (uint8_t)(7 * i + sender);
    return frame;
}

static struct carry_frame view_of(struct frame4 *frame) {
    return (struct carry_frame){frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
}

static void fill_in_sums(struct frame4 *frame) {
    const struct carry_frame view = view_of(frame);
    carry_packet_fill(&view, NULL, NULL, 0);
}

static struct frame4 make_tcp(uint8_t sender) {
    struct frame4 frame = make_ip(sender, TCP, 40);
    frame.bytes[34 + 12] = 0x50;
    put_big_endian(frame.bytes + 34 + 18, 0);
    fill_in_sums(&frame);
    return frame;
}

static struct frame4 make_bad_tcp(void) {
    struct frame4 frame = make_tcp(2);
    frame.bytes[34 + 16] ^= 0x40;
    return frame;
}

/*
 * Returns a packet whose sums are left to transmit offload: the TCP checksum field contains the sum
 * of the pseudo-header, and the IPv4 checksum is 0.
 */
static struct frame4 make_partial(void) {
    struct frame4 frame = make_tcp(3);
    uint32_t sum = 0x0a00 + 3 + 0x0a00 + 0x0101 + TCP + 40;
    put_big_endian(frame.bytes + 34 + 16, (sum & 0xffff) + (sum >> 16));
    put_big_endian(frame.bytes + 24, 0);
    return frame;
}

static struct frame4 make_zero_header(void) {
    struct frame4 frame = make_tcp(3);
    put_big_endian(frame.bytes + 24, 0);
    return frame;
}

static struct frame4 make_udp6(void) {
    struct frame4 frame = {.size = 14 + 40 + 16};
    uint8_t *ip = frame.bytes + 14;
    memcpy(frame.bytes, "\2\0\0\0\0\1\2\0\0\0\0\4\x86\xdd\x60", 15);
    put_big_endian(ip + 4, 16);
    ip[6] = UDP;
    ip[23] = 1;
    ip[39] = 2;
    put_big_endian(ip + 40, 1000);
    put_big_endian(ip + 42, 1001);
    put_big_endian(ip + 44, 16);
    return frame;
}

/* Returns a fragment of a UDP datagram of 48 bytes with a bad sum. */
static struct frame4 make_fragment(uint16_t identification, uint32_t place, bool more) {
    struct frame4 frame = make_ip(5, UDP, 24);
    uint8_t *ip = frame.bytes + 14;
    put_big_endian(ip + 4, identification);
    put_big_endian(ip + 6, place / 8 | (more ? 0x2000u : 0));
    if (!place) {
        put_big_endian(ip + 24, 48);
        put_big_endian(ip + 26, 0xbeef);
    }
    fill_in_sums(&frame);
    if (!place)
        put_big_endian(ip + 26, 0xbeef);
    return frame;
}

/* Returns a fragment of an IP-in-IP packet. It contains the bytes of the IPv4 packet in `inner`
   from offset `from` up to `to`. */
static struct frame4 make_tunnelled(const struct frame4 *inner, uint32_t from, uint32_t to) {
    struct frame4 frame = make_ip(5, IPIP, to - from);
    put_big_endian(frame.bytes + 18, 11);
    put_big_endian(frame.bytes + 20, from / 8 | (from ? 0 : 0x2000u));
    memcpy(frame.bytes + 34, inner->bytes + 14 + from, to - from);
    fill_in_sums(&frame);
    return frame;
}

static struct frame4 make_arp(void) {
    struct frame4 frame = {.size = 42};
    memcpy(frame.bytes, "\377\377\377\377\377\377\2\0\0\0\0\1\x08\x06\0\1\x08\0\6\4\0\1", 22);
    return frame;
}

/* --- The capture --- */

/* Returns the number of bytes to allocate for `size` bytes. A small buffer has no spare byte, so
   that sanitizers find reads after it. The room of larger ones doubles, because a sanitizer copies
   the whole buffer whenever it grows. */
static size_t room_for(size_t size) {
    size_t room = EXACT_MAX;
    if (size <= EXACT_MAX)
        return size;
    while (room < size)
        room *= 2;
    return room;
}

static int append_to_bytes(void *user, const void *bytes, size_t size) {
    struct bytes *all = user;
    size_t room = room_for(all->size + size);
    if (!all->data || room != room_for(all->size)) {
        uint8_t *grown = realloc(all->data, room);
        if (!grown)
            return -ENOMEM;
        all->data = grown;
    }
    memcpy(all->data + all->size, bytes, size);
    all->size += size;
    return 0;
}

void bytes_append(struct bytes *all, const void *bytes, size_t size) {
    if (append_to_bytes(all, bytes, size))
        abort();
}

static void write_frame(struct carry_capture_writer *writer, const struct frame4 *frame,
                        unsigned index, uint32_t linktype) {
    const struct carry_capture_packet packet = {
        .data = frame->bytes,
        .captured = frame->size,
        .wire = frame->size,
        .linktype = linktype,
        .time_ns = UINT64_C(1700000000000000001) + index,
    };
    if (carry_capture_writer_add(writer, &packet, NULL) != CARRY_OK)
        abort();
}

static void write_packets(struct carry_capture_writer *writer, bool all_links, unsigned copies) {
    const struct frame4 frames[CAPTURE_PACKETS] = {
        make_tcp(1),
        make_bad_tcp(),
        make_partial(),
        make_udp6(),
        make_fragment(7, 24, false),
        make_zero_header(),
        make_fragment(7, 0, true),
        make_arp(),
        make_fragment(9, 0, true),
        make_arp(),
    };
    for (unsigned i = 0; i < copies * CAPTURE_PACKETS; i++)
        write_frame(writer, &frames[i % CAPTURE_PACKETS], i,
                    all_links && i % CAPTURE_PACKETS == 7 ? LINK_UNKNOWN : LINK_ETHERNET);
}

static struct carry_capture_writer *writer_to(struct bytes *bytes,
                                              enum carry_capture_format format) {
    const struct carry_capture_sink sink = {.write = append_to_bytes, .user = bytes};
    const struct carry_capture_writer_options options = {.format = format};
    struct carry_capture_writer *writer;
    if (carry_capture_writer_create(&options, &sink, &writer) != CARRY_OK)
        abort();
    return writer;
}

struct bytes make_repeated(enum carry_capture_format format, unsigned copies) {
    struct bytes bytes = {0};
    struct carry_capture_writer *writer = writer_to(&bytes, format);
    write_packets(writer, format != CARRY_CAPTURE_FORMAT_PCAP, copies);
    carry_capture_writer_free(writer);
    return bytes;
}

struct bytes make_early_capture(void) {
    struct bytes bytes = {0};
    const struct frame4 header = make_zero_header(), evidence = make_partial();
    struct carry_capture_writer *writer = writer_to(&bytes, CARRY_CAPTURE_FORMAT_PCAPNG);
    write_frame(writer, &header, 0, LINK_ETHERNET);
    write_frame(writer, &evidence, 1, LINK_ETHERNET);
    carry_capture_writer_free(writer);
    return bytes;
}

struct bytes make_tunnel(void) {
    struct bytes bytes = {0};
    struct frame4 inner = make_bad_tcp();
    put_big_endian(inner.bytes + 24, 0);
    const struct frame4 first = make_tunnelled(&inner, 0, 8);
    const struct frame4 rest = make_tunnelled(&inner, 8, inner.size - 14);
    struct carry_capture_writer *writer = writer_to(&bytes, CARRY_CAPTURE_FORMAT_PCAPNG);
    write_frame(writer, &first, 0, LINK_ETHERNET);
    write_frame(writer, &rest, 1, LINK_ETHERNET);
    carry_capture_writer_free(writer);
    return bytes;
}

struct bytes make_capture(enum carry_capture_format format) {
    return make_repeated(format, 1);
}

struct bytes make_long_capture(unsigned copies) {
    return make_repeated(CARRY_CAPTURE_FORMAT_PCAPNG, copies);
}

struct bytes make_skipped(uint32_t size) {
    struct bytes bytes = {0};
    const uint32_t head[2] = {0x0bad, size / 4 * 4};
    struct carry_capture_writer *writer = writer_to(&bytes, CARRY_CAPTURE_FORMAT_PCAPNG);
    if (carry_capture_writer_end(writer) != CARRY_OK)
        abort();
    carry_capture_writer_free(writer);
    uint8_t *zeros = calloc(1, head[1] - 12);
    if (!zeros)
        abort();
    bytes_append(&bytes, head, sizeof head);
    bytes_append(&bytes, zeros, head[1] - 12);
    bytes_append(&bytes, &head[1], 4);
    free(zeros);
    return bytes;
}

static size_t least_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Appends a little-endian number of `size` bytes. */
static void append_number(struct bytes *all, uint32_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        bytes_append(all, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

/* --- Formats of other programs --- */

/* Appends a big-endian number of `size` bytes. */
static void append_network(struct bytes *all, uint32_t value, unsigned size) {
    for (unsigned i = size; i--;)
        bytes_append(all, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

/* Appends a snoop record (RFC 1761), padded to a multiple of 4 bytes. */
static void append_snoop(struct bytes *snoop, const struct carry_capture_packet *packet) {
    const uint32_t padding = -packet->captured & 3, size = 24 + packet->captured + padding;
    const uint32_t head[] = {packet->wire, packet->captured, size, 0, 1700000000, 7};
    for (unsigned i = 0; i < 6; i++)
        append_network(snoop, head[i], 4);
    bytes_append(snoop, packet->data, packet->captured);
    append_network(snoop, 0, padding);
}

/* Appends an ERF record of an Ethernet frame, with an extension header, padded to a multiple of 8
   bytes. */
static void append_erf(struct bytes *erf, const struct carry_capture_packet *packet) {
    const uint32_t padding = -(26 + packet->captured) & 7;
    append_number(erf, 0x80000000, 4);
    append_number(erf, 1700000000, 4);
    bytes_append(erf, "\x82\x04", 2);
    append_network(erf, 26 + packet->captured + padding, 2);
    append_network(erf, 0, 2);
    append_network(erf, packet->wire, 2);
    bytes_append(erf, "\x03\0\0\0\0\0\0\0\0\0", 10);
    bytes_append(erf, packet->data, packet->captured);
    bytes_append(erf, "\0\0\0\0\0\0\0", padding);
}

/* Appends a gap, and a frame of Network Monitor 2.3. */
static void append_netmon(struct bytes *netmon, const struct carry_capture_packet *packet) {
    bytes_append(netmon, "gap\7\0\0\0\0\0\0\0", 11);
    append_number(netmon, packet->wire, 4);
    append_number(netmon, packet->captured, 4);
    bytes_append(netmon, packet->data, packet->captured);
    bytes_append(netmon, "\1\0\0\0\0\0\x80\x03\xbe\xc3\x45\x17\xda\x01\0", 15);
}

static void append_packets(struct bytes *all,
                           void (*append_packet)(struct bytes *,
                                                 const struct carry_capture_packet *)) {
    struct bytes pcap = make_capture(CARRY_CAPTURE_FORMAT_PCAP);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    carry_capture_open_memory(pcap.data, pcap.size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET)
        append_packet(all, packet);
    carry_capture_close(capture);
    bytes_free(&pcap);
}

struct bytes make_snoop(void) {
    struct bytes snoop = {0};
    bytes_append(&snoop, "snoop\0\0\0\0\0\0\2\0\0\0\4", 16);
    append_packets(&snoop, append_snoop);
    return snoop;
}

struct bytes make_erf(void) {
    struct bytes erf = {0};
    append_packets(&erf, append_erf);
    return erf;
}

struct bytes make_netmon(void) {
    static const uint8_t header[124] = {3, 2, 1};
    struct bytes netmon = {0}, table = {0};
    bytes_append(&netmon, "GMBU", 4);
    bytes_append(&netmon, header, sizeof header);
    append_packets(&netmon, append_netmon);
    for (size_t at = 128; at < netmon.size;) {
        const uint32_t captured = netmon.data[at + 15] | (uint32_t)netmon.data[at + 16] << 8;
        append_number(&table, (uint32_t)at + 3, 4);
        at += 3 + 16 + captured + 15;
    }
    for (unsigned i = 0; i < 4; i++) {
        netmon.data[24 + i] = (uint8_t)(netmon.size >> 8 * i);
        netmon.data[28 + i] = (uint8_t)(table.size >> 8 * i);
    }
    bytes_append(&netmon, table.data, table.size);
    bytes_free(&table);
    return netmon;
}

/* --- Compressed formats --- */

/* Returns the CRC-32 of IEEE 802.3, computed bit by bit. */
static uint32_t crc32_of(const struct bytes *bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes->size; i++) {
        crc ^= bytes->data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* Returns the bytes in gzip format (RFC 1952), in stored blocks (RFC 1951) of at most 65,535
   bytes. */
struct bytes make_gzip(const struct bytes *bytes) {
    struct bytes gzip = {0};
    const uint32_t crc = crc32_of(bytes), all = (uint32_t)bytes->size;
    bytes_append(&gzip, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (size_t at = 0; at < bytes->size;) {
        const size_t size = least_size(bytes->size - at, 65535);
        const uint8_t head[5] = {at + size == bytes->size, (uint8_t)size, (uint8_t)(size >> 8),
                                 (uint8_t)~size, (uint8_t)(~size >> 8)};
        bytes_append(&gzip, head, sizeof head);
        bytes_append(&gzip, bytes->data + at, size);
        at += size;
    }
    append_number(&gzip, crc, 4);
    append_number(&gzip, all, 4);
    return gzip;
}

/* Returns the bytes in Zstandard format (RFC 8878): a single segment whose size field has four
   bytes, with one raw block. */
struct bytes make_zstd(const struct bytes *bytes) {
    struct bytes zstd = {0};
    const uint32_t block = 1 | (uint32_t)bytes->size << 3;
    bytes_append(&zstd, "\x28\xb5\x2f\xfd\xa0", 5);
    append_number(&zstd, (uint32_t)bytes->size, 4);
    append_number(&zstd, block, 3);
    bytes_append(&zstd, bytes->data, bytes->size);
    return zstd;
}

/* Returns the bytes as an LZ4 frame with one raw block, without content size and checksums of
   block and content. */
struct bytes make_lz4(const struct bytes *bytes) {
    struct bytes lz4 = {0};
    bytes_append(&lz4, "\x04\x22\x4d\x18\x60\x70\x73", 7);
    append_number(&lz4, UINT32_C(1) << 31 | (uint32_t)bytes->size, 4);
    bytes_append(&lz4, bytes->data, bytes->size);
    append_number(&lz4, 0, 4);
    return lz4;
}

/* Pads the bytes from `start` on with zeros to a multiple of 4, and appends their CRC. */
static void append_crc(struct bytes *bytes, size_t start) {
    while ((bytes->size - start) % 4)
        append_number(bytes, 0, 1);
    append_number(bytes, crc32_of(&(struct bytes){bytes->data + start, bytes->size - start}), 4);
}

/* Appends a number as xz encodes it: 7 bits in each byte, the lowest first. */
static void append_bits(struct bytes *bytes, size_t value) {
    for (; value >= 0x80; value >>= 7)
        append_number(bytes, (value & 0x7f) | 0x80, 1);
    append_number(bytes, (uint32_t)value, 1);
}

/* Appends the bytes as uncompressed LZMA2 chunks of at most 64 KiB, the first of which resets the
   dictionary. */
static void append_chunks(struct bytes *xz, const struct bytes *bytes) {
    for (size_t at = 0; at < bytes->size;) {
        const size_t size = least_size(bytes->size - at, 65536);
        const uint8_t head[3] = {at ? 2 : 1, (uint8_t)((size - 1) >> 8), (uint8_t)(size - 1)};
        bytes_append(xz, head, sizeof head);
        bytes_append(xz, bytes->data + at, size);
        at += size;
    }
    append_number(xz, 0, 1);
}

/* Returns the bytes in xz format: header, one block of LZMA2 without a check, index, footer. */
struct bytes make_xz(const struct bytes *bytes) {
    struct bytes xz = {0};
    bytes_append(&xz, "\xfd\x37zXZ\0\0\0", 8);
    append_number(&xz, crc32_of(&(struct bytes){xz.data + 6, 2}), 4);
    bytes_append(&xz, "\x02\0\x21\x01\x08", 5);
    append_crc(&xz, 12);
    append_chunks(&xz, bytes);
    const size_t block = xz.size - 12;
    while (xz.size % 4)
        append_number(&xz, 0, 1);
    const size_t index = xz.size;
    bytes_append(&xz, "\0\x01", 2);
    append_bits(&xz, block);
    append_bits(&xz, bytes->size);
    append_crc(&xz, index);
    const uint8_t footer[6] = {(uint8_t)((xz.size - index) / 4 - 1)};
    append_number(&xz, crc32_of(&(struct bytes){(uint8_t *)footer, sizeof footer}), 4);
    bytes_append(&xz, footer, sizeof footer);
    bytes_append(&xz, "YZ", 2);
    return xz;
}

/* --- Sources --- */

static int64_t read_feed(void *user, void *buffer, size_t size) {
    struct feed *feed = user;
    if (feed->idles) {
        feed->is_interrupted = !feed->is_interrupted;
        feed->idles -= !feed->is_interrupted;
        return feed->is_interrupted ? -EINTR : -EAGAIN;
    }
    size_t rest = feed->bytes->size - feed->at;
    size_t got = least_size(least_size(size, rest), feed->piece ? feed->piece : size);
    if (feed->at + got > feed->fails_at || (feed->at == feed->fails_at))
        return -feed->error;
    if (got)
        memcpy(buffer, feed->bytes->data + feed->at, got);
    feed->at += got;
    return (int64_t)got;
}

static int rewind_feed(void *user) {
    ((struct feed *)user)->at = 0;
    return 0;
}

struct feed feed_of(const struct bytes *bytes) {
    return (struct feed){.bytes = bytes, .fails_at = UINT64_MAX};
}

struct carry_capture_source source_of(struct feed *feed) {
    return (struct carry_capture_source){
        .read = read_feed, .rewind = rewind_feed, .user = feed, .size = feed->bytes->size};
}

struct carry_capture *open_feed(struct feed *feed) {
    const struct carry_capture_source source = source_of(feed);
    struct carry_capture *capture;
    struct carry_capture_error error;
    if (carry_capture_open_source(&source, &capture, &error) != CARRY_OK)
        abort();
    return capture;
}

/* --- Sinks --- */

static bool call_fails(struct bowl *bowl) {
    return ++bowl->calls == bowl->fails_at;
}

static int write_bowl(void *user, const void *bytes, size_t size) {
    struct bowl *bowl = user;
    if (size > PTRDIFF_MAX) /* a larger size would put the end before the start */
        return -EFBIG;
    return call_fails(bowl) ? -ENOSPC : append_to_bytes(&bowl->bytes, bytes, size);
}

static int rewrite_bowl(void *user, uint64_t offset, const void *bytes, size_t size) {
    struct bowl *bowl = user;
    if (call_fails(bowl))
        return -ENOSPC;
    if (offset > bowl->bytes.size || size > bowl->bytes.size - offset)
        return -EINVAL;
    memcpy(bowl->bytes.data + offset, bytes, size);
    return 0;
}

struct carry_capture_sink sink_of(struct bowl *bowl) {
    return (struct carry_capture_sink){.write = write_bowl, .rewrite = rewrite_bowl, .user = bowl};
}
