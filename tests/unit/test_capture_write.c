/* SPDX-License-Identifier: MIT */
/*
 * Tests writing captures: written packets are read back, unsupported ones are refused, sinks fail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/tap.h"

#define LENGTH_MAX 65535 /* of texts in pcapng */

static const uint8_t data[2000] = "bytes of a packet";

/* Returns a text of `length` letters. */
static const char *text_of(size_t length) {
    static char text[LENGTH_MAX + 2];
    memset(text, 'x', length);
    text[length] = '\0';
    return text;
}

static struct carry_capture_packet make_packet(void) {
    return (struct carry_capture_packet){.data = data,
                                         .captured = 61,
                                         .wire = 64,
                                         .linktype = 1,
                                         .time_ns = UINT64_C(1700000000987654321)};
}

static struct carry_capture_writer *writer_to(struct bowl *bowl, enum carry_capture_format format) {
    const struct carry_capture_sink sink = sink_of(bowl);
    const struct carry_capture_writer_options options = {.format = format};
    struct carry_capture_writer *writer = NULL;
    carry_capture_writer_create(&options, &sink, &writer);
    return writer;
}

static bool is_same(const struct carry_capture_packet *a, const struct carry_capture_packet *b) {
    return a->captured == b->captured && a->wire == b->wire && a->linktype == b->linktype &&
           a->fcs == b->fcs && a->time_ns == b->time_ns && a->flags == b->flags &&
           memcmp(a->data, b->data, a->captured) == 0;
}

/* Packets that differ in size, time and, for pcapng, in other members are read back unchanged. */
static void test_round_trip(enum carry_capture_format format) {
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, format);
    struct carry_capture_packet packets[6];
    bool ok = true;
    for (unsigned i = 0; i < 6; i++) {
        packets[i] = make_packet();
        packets[i].captured -= 7 * i;
        packets[i].time_ns += i;
        packets[i].fcs = 4;
        if (format == CARRY_CAPTURE_FORMAT_PCAPNG) {
            packets[i].linktype += i % 2;
            packets[i].fcs = i % 3 ? 4 : 0;
            packets[i].flags = i < 5 ? 1u << i : 0;
        }
        ok &= carry_capture_writer_add(writer, &packets[i], i % 2 ? "a comment" : NULL) == CARRY_OK;
    }
    ok &= carry_capture_writer_end(writer) == CARRY_OK;
    carry_capture_writer_free(writer);
    struct carry_capture *capture;
    const struct carry_capture_packet *packet;
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    for (unsigned i = 0; i < 6; i++)
        ok &= carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET &&
              is_same(packet, &packets[i]);
    ok &= carry_capture_next(capture, &packet) == CARRY_CAPTURE_END;
    tap_ok(TAP_TRUE(ok) && TAP_EQ(carry_capture_format(capture), format),
           "%s reads back as it was written", carry_capture_format_name(format));
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
}

/* Bits of epb_flags, as the draft of pcapng defines them, and the values that a reader derives. */
static const struct {
    uint32_t bits, flags, fcs;
} flag_rows[] = {
    {0x1, CARRY_CAPTURE_PACKET_RECEIVED, 0},
    {0x2, CARRY_CAPTURE_PACKET_SENT, 0},
    {0x3, 0, 0},
    {0x200, CARRY_CAPTURE_PACKET_SUM_LEFT, 0},
    {0x400, CARRY_CAPTURE_PACKET_SUM_VALID, 0},
    {0x800, CARRY_CAPTURE_PACKET_SEGMENTED, 0},
    {0x82, CARRY_CAPTURE_PACKET_SENT, 4},
    {0xfffff1fc, 0, 0}, /* a frame check sequence of 15 bytes does not exist */
};

/* Offset of the flags from the end of a block: they are its last option, before the end of options
   and the size. */
#define FLAGS_BEFORE_END 12

static void test_flags(void) {
    bool reads = true, writes = true;
    for (size_t i = 0; i < sizeof flag_rows / sizeof *flag_rows; i++) {
        struct bowl bowl = {0};
        struct carry_capture_writer *writer = writer_to(&bowl, CARRY_CAPTURE_FORMAT_PCAPNG);
        const struct carry_capture_packet *read;
        struct carry_capture_packet packet = make_packet();
        struct carry_capture *capture;
        packet.flags = flag_rows[i].flags ? flag_rows[i].flags : CARRY_CAPTURE_PACKET_SENT;
        carry_capture_writer_add(writer, &packet, NULL);
        carry_capture_writer_free(writer);
        uint8_t *bits = bowl.bytes.data + bowl.bytes.size - FLAGS_BEFORE_END;
        if (flag_rows[i].flags && !flag_rows[i].fcs && flag_rows[i].bits < 0x1000)
            writes &= memcmp(bits, &flag_rows[i].bits, 4) == 0;
        memcpy(bits, &flag_rows[i].bits, 4);
        carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
        reads &= carry_capture_next(capture, &read) == CARRY_CAPTURE_PACKET &&
                 read->flags == flag_rows[i].flags && read->fcs == flag_rows[i].fcs;
        carry_capture_close(capture);
        bytes_free(&bowl.bytes);
    }
    tap_ok(TAP_TRUE(writes) && TAP_TRUE(reads), "flags of packets are those of the draft");
}

/* Tests a capture without packets. */
static void test_empty(enum carry_capture_format format) {
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, format);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    bool ok = carry_capture_writer_end(writer) == CARRY_OK;
    carry_capture_writer_free(writer);
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(carry_capture_next(capture, &packet), CARRY_CAPTURE_END),
           "%s without packets is a capture", carry_capture_format_name(format));
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
}

static void test_refused(enum carry_capture_format format) {
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, format);
    struct carry_capture_packet packet = make_packet(), other = make_packet();
    other.fcs =
        32; /* refused in the first packet: in pcap, later packets must have its `fcs` anyway */
    bool ok = TAP_EQ(carry_capture_writer_add(writer, &other, NULL), CARRY_ERROR_INVALID) &&
              TAP_EQ(carry_capture_writer_add(writer, &packet, NULL), CARRY_OK);
    const size_t before = bowl.bytes.size;
    other.captured = CARRY_CAPTURE_PACKET_MAX + 1;
    ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
    other = make_packet();
    other.linktype = 65536;
    ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
    other = make_packet();
    other.fcs = 31;
    ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
    if (format == CARRY_CAPTURE_FORMAT_PCAP) {
        other = make_packet();
        other.linktype = 101;
        ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
        other = make_packet();
        other.time_ns = UINT64_MAX;
        ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
        other = make_packet();
        other.fcs = 3;
        ok &= carry_capture_writer_add(writer, &other, NULL) == CARRY_ERROR_INVALID;
    } else {
        ok &= carry_capture_writer_add(writer, &packet, text_of(LENGTH_MAX + 1)) ==
              CARRY_ERROR_INVALID;
    }
    ok &= bowl.bytes.size == before;
    ok &= carry_capture_writer_add(writer, &packet, NULL) == CARRY_OK && bowl.bytes.size > before;
    tap_ok(ok, "%s refuses unsupported packets, and continues", carry_capture_format_name(format));
    carry_capture_writer_free(writer);
    bytes_free(&bowl.bytes);
}

/* The largest packet that can be written is read, and a larger one is refused. */
static void test_largest(enum carry_capture_format format) {
    const uint32_t around = format == CARRY_CAPTURE_FORMAT_PCAPNG ? 32 : 0;
    struct carry_capture_packet packet = make_packet();
    const struct carry_capture_packet *read;
    struct carry_capture *capture;
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, format);
    packet.captured = packet.wire = CARRY_CAPTURE_PACKET_MAX - around + 1;
    uint8_t *bytes = calloc(1, packet.captured);
    packet.data = bytes;
    bool ok = TAP_EQ(carry_capture_writer_add(writer, &packet, NULL), CARRY_ERROR_INVALID);
    packet.captured--;
    ok &= carry_capture_writer_add(writer, &packet, NULL) == CARRY_OK;
    carry_capture_writer_free(writer);
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    ok &= carry_capture_next(capture, &read) == CARRY_CAPTURE_PACKET &&
          read->captured == packet.captured;
    tap_ok(ok, "%s: the largest packet reads back", carry_capture_format_name(format));
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
    free(bytes);
}

static void test_options(void) {
    const struct carry_capture_writer_options snoop = {.format = CARRY_CAPTURE_FORMAT_SNOOP};
    const struct carry_capture_writer_options named = {.application = "a test"};
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    tap_ok(TAP_EQ(carry_capture_writer_create(&snoop, &sink, &writer), CARRY_ERROR_INVALID) &&
               TAP_TRUE(!writer),
           "only pcap and pcapng can be written");
    bool ok = carry_capture_writer_create(&named, &sink, &writer) == CARRY_OK &&
              carry_capture_writer_end(writer) == CARRY_OK;
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(memmem(bowl.bytes.data, bowl.bytes.size, "a test", 6)),
           "the program is named");
    carry_capture_writer_free(writer);
    bytes_free(&bowl.bytes);
}

/* Tests texts up to the limit of the format, and longer texts. */
static void test_long_texts(void) {
    const struct carry_capture_packet packet = make_packet();
    struct carry_capture_writer_options options = {.application = text_of(LENGTH_MAX + 1)};
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    tap_ok(TAP_EQ(carry_capture_writer_create(&options, &sink, &writer), CARRY_ERROR_INVALID) &&
               TAP_TRUE(!writer),
           "a name of the program that is too long is refused");
    options.application = text_of(LENGTH_MAX);
    bool ok = carry_capture_writer_create(&options, &sink, &writer) == CARRY_OK;
    ok &= carry_capture_writer_name(writer, 0, text_of(LENGTH_MAX + 1)) == CARRY_ERROR_INVALID &&
          carry_capture_writer_name(writer, 0, text_of(LENGTH_MAX)) == CARRY_OK &&
          carry_capture_writer_add(writer, &packet, text_of(LENGTH_MAX)) == CARRY_OK;
    carry_capture_writer_free(writer);
    const struct carry_capture_packet *read;
    struct carry_capture *capture;
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    ok &= carry_capture_next(capture, &read) == CARRY_CAPTURE_PACKET && is_same(read, &packet);
    tap_ok(TAP_TRUE(ok) && TAP_GT(bowl.bytes.size, 3 * LENGTH_MAX),
           "the longest names and comments are read back");
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
}

/* Each call of the sink fails once. The error is final. */
static void test_failing_sink(void) {
    bool ok = true, failed = true;
    for (unsigned at = 1; failed && ok; at++) {
        struct bowl bowl = {.fails_at = at};
        struct carry_capture_writer *writer = writer_to(&bowl, CARRY_CAPTURE_FORMAT_PCAPNG);
        struct carry_capture_packet packet = make_packet();
        packet.captured = packet.wire = sizeof data; /* large enough for several writes */
        int first = CARRY_OK, last = CARRY_OK;
        for (unsigned i = 0; i < 4; i++) {
            last = carry_capture_writer_add(writer, &packet, "a comment");
            first = first ? first : last;
        }
        failed = bowl.calls >= at;
        ok = TAP_EQ(first, last) && TAP_EQ(first, failed ? CARRY_ERROR_WRITE : CARRY_OK) &&
             TAP_EQ(carry_capture_writer_end(writer), last) &&
             TAP_EQ(carry_capture_writer_errno(writer), failed ? ENOSPC : 0);
        carry_capture_writer_free(writer);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a failure of any call of the sink is a final error");
}

/*
 * Copies the names in interface blocks, which have the machine's byte order. A newline follows each
 * name; "-" means that a block has no name.
 */
static void read_names(const struct bytes *bytes, char *names) {
    uint32_t head[2];
    *names = '\0';
    for (size_t at = 0; at < bytes->size; at += head[1]) {
        memcpy(head, bytes->data + at, sizeof head);
        uint16_t option[2];
        memcpy(option, bytes->data + at + 16, sizeof option);
        if (head[0] == 1 && option[0] == 2)
            strcat(strncat(names, (const char *)bytes->data + at + 20, option[1]), "\n");
        else if (head[0] == 1)
            strcat(names, "-\n");
    }
}

static void test_names(void) {
    static const struct {
        uint32_t interface, linktype;
    } rows[] = {{1, 1}, {0, 1}, {1, 1}, {1, 101}, {7, 1}, {4, 1}, {4, 1}};
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, CARRY_CAPTURE_FORMAT_PCAPNG);
    char names[256];
    bool ok = carry_capture_writer_name(writer, 1, "eth0") == CARRY_OK &&
              carry_capture_writer_name(writer, 0, "veth-long") == CARRY_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carry_capture_packet packet = make_packet();
        packet.interface = rows[i].interface;
        packet.linktype = rows[i].linktype;
        ok &= carry_capture_writer_add(writer, &packet, NULL) == CARRY_OK;
    }
    ok &= carry_capture_writer_end(writer) == CARRY_OK;
    read_names(&bowl.bytes, names);
    tap_ok(TAP_TRUE(ok) && TAP_STREQ(names, "eth0\nveth-long\neth0\n-\n"),
           "a named interface has a block for each link type; unnamed ones share one");
    tap_ok(TAP_EQ(carry_capture_writer_name(writer, 1, "eth1"), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_writer_name(writer, 65536, "eth1"), CARRY_ERROR_INVALID),
           "a second name, and a number that no block has, are refused");
    carry_capture_writer_free(writer);
    bytes_free(&bowl.bytes);
}

/* A counter in an Interface Statistics Block, as the draft of pcapng defines it. */
struct count {
    uint16_t code, size;
    uint64_t count;
} __attribute__((packed));

static const struct {
    uint32_t type, size, interface, high, low;
    struct count received, dropped;
    uint32_t end, size_again;
} __attribute__((packed)) both = {5, 52, 1, 0x01234567, 0x89abcdef, {4, 8, 3}, {5, 8, 7}, 0, 52};

static const struct {
    uint32_t type, size, interface, high, low;
    struct count received;
    uint32_t end, size_again;
} __attribute__((packed)) received = {5, 40, 1, 0x01234567, 0x89abcdef, {4, 8, 3}, 0, 40};

static bool ends_with(const struct bytes *bytes, const void *block, size_t size) {
    return bytes->size > size && memcmp(bytes->data + bytes->size - size, block, size) == 0;
}

static void test_statistics(void) {
    struct bowl bowl = {0};
    struct carry_capture_writer *writer = writer_to(&bowl, CARRY_CAPTURE_FORMAT_PCAPNG);
    struct carry_capture_packet packet = make_packet();
    struct carry_capture_statistics statistics = {
        .time_ns = UINT64_C(0x0123456789abcdef),
        .received = 3,
        .dropped = 7,
    };
    bool ok = TAP_EQ(carry_capture_writer_name(writer, 3, "eth3"), CARRY_OK);
    ok &= carry_capture_writer_add(writer, &packet, NULL) == CARRY_OK;
    tap_ok(
        TAP_TRUE(ok) &&
            TAP_EQ(carry_capture_writer_statistics(writer, 3, &statistics), CARRY_ERROR_INVALID) &&
            TAP_EQ(carry_capture_writer_statistics(writer, 0, &statistics), CARRY_ERROR_INVALID),
        "statistics for an interface without packets or name are refused");
    packet.interface = 3;
    ok &= carry_capture_writer_add(writer, &packet, NULL) == CARRY_OK &&
          carry_capture_writer_statistics(writer, 3, &statistics) == CARRY_OK &&
          ends_with(&bowl.bytes, &both, sizeof both);
    statistics.dropped = CARRY_CAPTURE_NOT_COUNTED;
    ok &= carry_capture_writer_statistics(writer, 3, &statistics) == CARRY_OK &&
          ends_with(&bowl.bytes, &received, sizeof received);
    tap_ok(ok, "the counts of an interface are in a block");
    carry_capture_writer_free(writer);
    bytes_free(&bowl.bytes);
}

static void test_allocations(void) {
    bool ok = true, done = false;
    const long before = allocations_alive();
    for (unsigned number = 1; !done && ok; number++) {
        struct bowl bowl = {0};
        struct carry_capture_packet packet = make_packet();
        const struct carry_capture_writer_options options = {.application = "a test"};
        const struct carry_capture_sink sink = sink_of(&bowl);
        struct carry_capture_writer *writer;
        allocations_fail_from(number);
        int code = carry_capture_writer_create(&options, &sink, &writer);
        ok = (writer == NULL) == (number <= 2);
        if (code == CARRY_OK)
            code = carry_capture_writer_name(writer, 0, "eth0");
        if (code == CARRY_OK)
            code = carry_capture_writer_add(writer, &packet, NULL);
        done = allocations_count() < number;
        ok &= done ? code == CARRY_OK : code == CARRY_ERROR_MEMORY || code == CARRY_ERROR_WRITE;
        carry_capture_writer_free(writer);
        allocations_fail_from(0);
        bytes_free(&bowl.bytes);
        ok &= allocations_alive() == before;
    }
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(done),
           "if any allocation fails, the result is an error, and no memory is lost");
}

int main(void) {
    const enum carry_capture_format formats[] = {CARRY_CAPTURE_FORMAT_PCAP,
                                                 CARRY_CAPTURE_FORMAT_PCAPNG};
    for (unsigned i = 0; i < 2; i++) {
        test_round_trip(formats[i]);
        test_empty(formats[i]);
        test_refused(formats[i]);
        test_largest(formats[i]);
    }
    test_flags();
    test_names();
    test_statistics();
    test_options();
    test_long_texts();
    test_failing_sink();
    test_allocations();
    return tap_done();
}
