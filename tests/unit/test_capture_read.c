/* SPDX-License-Identifier: MIT */
/*
 * Tests reading captures: from every kind of source, in pieces of any size, cut at every byte, with
 * failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/captures.h"
#include "harness/tap.h"

#define WINDOW_BYTES ((size_t)128 << 10) /* captures are read in windows of this size */

/* The result of reading a capture. */
struct reading {
    int result;
    unsigned packets;
    uint64_t end; /* of the last packet's bytes */
    uint64_t digest;
};

static struct reading read_all(struct carry_capture *capture) {
    struct reading reading = {0};
    const struct carry_capture_packet *packet;
    while ((reading.result = carry_capture_next(capture, &packet)) == CARRY_CAPTURE_PACKET) {
        reading.packets++;
        reading.end = packet->offset + packet->captured;
        reading.digest = reading.digest * 31 + packet->time_ns + packet->offset + packet->linktype +
                         packet->number;
        for (uint32_t i = 0; i < packet->captured; i++)
            reading.digest = reading.digest * 31 + packet->data[i];
    }
    return reading;
}

/* Returns a capture with a packet that is larger than a window. */
static struct bytes make_large(void) {
    static const uint8_t data[3 * WINDOW_BYTES];
    const struct carry_capture_packet packet = {
        .data = data, .captured = sizeof data, .wire = sizeof data, .linktype = 1};
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    carry_capture_writer_create(NULL, &sink, &writer);
    if (carry_capture_writer_add(writer, &packet, NULL) != CARRY_OK)
        abort();
    carry_capture_writer_free(writer);
    return bowl.bytes;
}

static struct reading read_memory(const struct bytes *bytes, size_t size) {
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, size, &capture, NULL);
    struct reading reading = read_all(capture);
    carry_capture_close(capture);
    return reading;
}

static bool is_same(const struct reading *a, const struct reading *b) {
    return a->result == b->result && a->packets == b->packets && a->digest == b->digest;
}

static void test_pieces(const struct bytes *bytes, const char *name) {
    const struct reading whole = read_memory(bytes, bytes->size);
    bool ok = TAP_EQ(whole.result, CARRY_CAPTURE_END) && TAP_EQ(whole.packets, CAPTURE_PACKETS);
    for (size_t piece = 1; piece <= bytes->size && ok; piece++) {
        struct feed feed = feed_of(bytes);
        feed.piece = piece;
        feed.idles = piece % 3;
        struct carry_capture *capture = open_feed(&feed);
        const struct reading reading = read_all(capture);
        ok = is_same(&reading, &whole);
        carry_capture_close(capture);
    }
    tap_ok(ok, "%s: pieces of any size contain the same packets", name);
}

/*
 * A cut file contains the packets that end before the cut. It is damaged, except where the cut is
 * between records, in `ends` places. Fewer than `unknown` bytes may be too few to recognise the
 * format.
 */
static void test_cuts(const struct bytes *bytes, unsigned ends, size_t unknown, const char *name) {
    unsigned found = 0;
    bool ok = true;
    for (size_t size = 0; size < bytes->size && ok; size++) {
        struct carry_capture *capture;
        carry_capture_open_memory(bytes->data, size, &capture, NULL);
        const struct reading cut = read_all(capture);
        const struct carry_capture_error *error = carry_capture_last_error(capture);
        const bool is_end = cut.result == CARRY_CAPTURE_END;
        ok = cut.packets <= CAPTURE_PACKETS && cut.end <= size && error->code == cut.result &&
             (is_end || cut.result == CARRY_ERROR_DAMAGED ||
              (cut.result == CARRY_ERROR_UNRECOGNISED && size < unknown)) &&
             is_end == !*error->text && error->offset <= size;
        found += is_end;
        carry_capture_close(capture);
        if (!ok)
            tap_note("cut to %zu bytes: %d, %u packets", size, cut.result, cut.packets);
    }
    tap_ok(TAP_TRUE(ok) && TAP_EQ(found, ends),
           "%s: a capture cut at any byte yields the packets before the cut", name);
}

/* A capture whose source cannot be rewound returns its error again. */
static void test_final_error(const struct bytes *bytes) {
    const struct bytes cut = {bytes->data, bytes->size - 1};
    struct feed feed = feed_of(&cut);
    struct carry_capture_source source = source_of(&feed);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    source.rewind = NULL;
    carry_capture_open_source(&source, &capture, NULL);
    const struct reading reading = read_all(capture);
    tap_ok(TAP_EQ(reading.result, CARRY_ERROR_DAMAGED) &&
               TAP_EQ(carry_capture_rewind(capture), CARRY_ERROR_UNSUPPORTED) &&
               TAP_EQ(carry_capture_last_error(capture)->code, CARRY_ERROR_UNSUPPORTED) &&
               TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_DAMAGED) &&
               TAP_EQ(carry_capture_last_error(capture)->code, CARRY_ERROR_DAMAGED),
           "an error is final, whatever fails later");
    carry_capture_close(capture);
}

static void test_failing_reads(const struct bytes *bytes) {
    bool ok = true;
    for (size_t at = 0; at < bytes->size && ok; at++) {
        struct feed feed = feed_of(bytes);
        feed.fails_at = at;
        feed.piece = 1;
        feed.error = EIO;
        struct carry_capture *capture = open_feed(&feed);
        const struct reading reading = read_all(capture);
        const struct carry_capture_error *error = carry_capture_last_error(capture);
        const struct carry_capture_packet *packet;
        ok = TAP_EQ(reading.result, CARRY_ERROR_READ) && TAP_EQ(error->code, CARRY_ERROR_READ) &&
             TAP_EQ(error->system, EIO) && TAP_LE(error->offset, at) && TAP_LE(reading.end, at) &&
             TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_READ);
        carry_capture_close(capture);
    }
    tap_ok(ok, "a read that fails at any byte returns its errno, and the record's offset");
}

static void test_position(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct carry_capture *capture = open_feed(&feed);
    const struct carry_capture_packet *packet;
    tap_ok(TAP_EQ(carry_capture_next(capture, &packet), CARRY_CAPTURE_PACKET) &&
               TAP_EQ(packet->number, 1) && TAP_LE(carry_capture_position(capture), bytes->size) &&
               TAP_EQ(carry_capture_size(capture), bytes->size),
           "position and size of a source are reported");
    carry_capture_close(capture);
}

static int64_t read_too_much(void *user, void *buffer, size_t size) {
    (void)user, (void)buffer;
    return (int64_t)size + 1;
}

static void test_source_that_lies(void) {
    const struct carry_capture_source source = {.read = read_too_much};
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    carry_capture_open_source(&source, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_READ) &&
               TAP_EQ(carry_capture_last_error(capture)->system, EIO) &&
               TAP_EQ(carry_capture_rewind(capture), CARRY_ERROR_UNSUPPORTED) &&
               TAP_TRUE(!carry_capture_can_rewind(capture)),
           "a source that returns more than was asked for fails, and cannot rewind");
    carry_capture_close(capture);
}

static int rewind_fails(void *user) {
    (void)user;
    return -ESPIPE;
}

static void test_failing_rewind(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct carry_capture_source source = source_of(&feed);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    source.rewind = rewind_fails;
    carry_capture_open_source(&source, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_next(capture, &packet), CARRY_CAPTURE_PACKET) &&
               TAP_EQ(carry_capture_rewind(capture), CARRY_ERROR_READ) &&
               TAP_EQ(carry_capture_last_error(capture)->system, ESPIPE) &&
               TAP_EQ(carry_capture_next(capture, &packet), CARRY_CAPTURE_PACKET) &&
               TAP_EQ(packet->number, 2),
           "a source that fails to rewind continues where it was");
    carry_capture_close(capture);
}

static void test_rewind(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct carry_capture *capture = open_feed(&feed);
    const struct carry_capture_packet *packet;
    bool ok = carry_capture_format(capture) == CARRY_CAPTURE_FORMAT_PCAPNG;
    for (unsigned i = 0; i < 3; i++)
        ok &= carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET;
    ok &= carry_capture_rewind(capture) == CARRY_OK;
    const struct reading again = read_all(capture);
    const struct reading whole = read_memory(bytes, bytes->size);
    ok &= is_same(&again, &whole) && carry_capture_rewind(capture) == CARRY_OK;
    const struct reading third = read_all(capture);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(is_same(&third, &whole)),
           "a capture can be rewound from the middle and from the end");
    carry_capture_close(capture);
}

/* --- Files and descriptors --- */

static int file_with(const struct bytes *bytes) {
    int descriptor = memfd_create("capture", 0);
    if (descriptor < 0 || write(descriptor, bytes->data, bytes->size) != (ssize_t)bytes->size ||
        lseek(descriptor, 0, SEEK_SET))
        abort();
    return descriptor;
}

static void test_descriptor(const struct bytes *bytes) {
    struct carry_capture *capture;
    int descriptor = file_with(bytes);
    bool ok = carry_capture_open_fd(descriptor, &capture, NULL) == CARRY_OK;
    const struct reading reading = read_all(capture);
    const struct reading whole = read_memory(bytes, bytes->size);
    ok &= carry_capture_descriptor(capture) == descriptor && carry_capture_can_rewind(capture) &&
          carry_capture_size(capture) == bytes->size &&
          carry_capture_position(capture) == bytes->size && is_same(&reading, &whole);
    carry_capture_close(capture);
    tap_ok(TAP_TRUE(ok) && TAP_GE(fcntl(descriptor, F_GETFD), 0),
           "a descriptor is read, and remains open");
    close(descriptor);
}

static void test_pipe(const struct bytes *bytes) {
    struct carry_capture *capture;
    int ends[2];
    if (pipe(ends) || write(ends[1], bytes->data, bytes->size) != (ssize_t)bytes->size)
        abort();
    close(ends[1]);
    carry_capture_open_fd(ends[0], &capture, NULL);
    const struct reading reading = read_all(capture);
    const struct reading whole = read_memory(bytes, bytes->size);
    tap_ok(TAP_TRUE(is_same(&reading, &whole)) && TAP_TRUE(!carry_capture_can_rewind(capture)) &&
               TAP_EQ(carry_capture_size(capture), 0),
           "a pipe has an unknown size, and cannot be rewound");
    carry_capture_close(capture);
    close(ends[0]);
}

/* Reads until the stop descriptor ends the reading: the writer still holds the pipe open. */
static struct reading read_stopped(const struct bytes *bytes, size_t size) {
    struct carry_capture *capture;
    int ends[2], stop[2];
    if (pipe(ends) || pipe(stop) || write(ends[1], bytes->data, size) != (ssize_t)size ||
        write(stop[1], "", 1) != 1)
        abort();
    carry_capture_open_fd(ends[0], &capture, NULL);
    carry_capture_stop_on(capture, stop[0]);
    const struct reading reading = read_all(capture);
    carry_capture_close(capture);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(stop[i]);
    }
    return reading;
}

static void test_stop(const struct bytes *bytes) {
    struct bytes packed = make_gzip(bytes), skipped = make_skipped(3000000);
    const struct reading plain = read_stopped(bytes, bytes->size - 5);
    tap_ok(TAP_EQ(plain.result, CARRY_CAPTURE_END) && TAP_EQ(plain.packets, CAPTURE_PACKETS - 1),
           "a stopped pipe yields all packets so far, and a packet cut by the stop is no damage");
    const struct reading unpacked = read_stopped(&packed, packed.size - 13);
    if (unpacked.result == CARRY_ERROR_UNRECOGNISED)
        tap_skip("compressed", "built without what unpacks it");
    else
        tap_ok(is_same(&unpacked, &plain), "a stopped pipe with compressed data yields the same");
    tap_ok(TAP_EQ(read_stopped(bytes, 10).result, CARRY_ERROR_DAMAGED) &&
               TAP_EQ(read_stopped(&skipped, 1000).result, CARRY_ERROR_DAMAGED),
           "a header cut by the stop is damage, and so is a partly written block");
    bytes_free(&packed);
    bytes_free(&skipped);
}

/* Reading ends after the packets of the window that was read before the stop. */
static void test_stopped_file(void) {
    struct bytes bytes = make_long_capture(1000);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    FILE *file = tmpfile();
    int stop[2];
    if (!file || pipe(stop) || fwrite(bytes.data, bytes.size, 1, file) != 1 || fflush(file))
        abort();
    rewind(file);
    carry_capture_open_fd(fileno(file), &capture, NULL);
    carry_capture_stop_on(capture, stop[0]);
    bool ok =
        carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET && write(stop[1], "", 1) == 1;
    const struct reading rest = read_all(capture);
    ok &= rest.result == CARRY_CAPTURE_END && rest.packets &&
          rest.packets < 1000 * CAPTURE_PACKETS - 1 &&
          carry_capture_last_error(capture)->code == CARRY_OK;
    tap_ok(ok, "a stopped file yields what was read, without damage");
    carry_capture_close(capture);
    close(stop[0]);
    close(stop[1]);
    fclose(file);
    bytes_free(&bytes);
}

static bool refuses_path(const char *path, int system) {
    struct carry_capture *capture = (void *)1;
    struct carry_capture_error error;
    return carry_capture_open_path(path, &capture, &error) == CARRY_ERROR_READ && !capture &&
           error.code == CARRY_ERROR_READ && error.system == system &&
           strcmp(error.text, strerror(system)) == 0;
}

static void test_unopened(void) {
    struct carry_capture *capture;
    struct carry_capture_error error;
    int write_only = open("/dev/null", O_WRONLY);
    tap_ok(TAP_TRUE(refuses_path("/", EISDIR)) &&
               TAP_TRUE(refuses_path("/nothing/of/this/name", ENOENT)),
           "a folder and a missing file are refused with errno");
    tap_ok(TAP_EQ(carry_capture_open_fd(-1, &capture, &error), CARRY_ERROR_READ) &&
               TAP_EQ(error.system, EBADF) &&
               TAP_EQ(carry_capture_open_fd(write_only, &capture, &error), CARRY_ERROR_READ) &&
               TAP_EQ(error.system, EBADF),
           "descriptors that cannot be read are refused");
    close(write_only);
}

static void test_open_without_memory(void) {
    struct carry_capture *capture = (void *)1;
    struct carry_capture_error error;
    const int free_before = dup(STDERR_FILENO);
    close(free_before);
    allocations_fail_from(1);
    const int code = carry_capture_open_path("/dev/null", &capture, &error);
    allocations_fail_from(0);
    const int free_after = dup(STDERR_FILENO);
    close(free_after);
    tap_ok(TAP_EQ(code, CARRY_ERROR_MEMORY) && TAP_EQ(error.code, CARRY_ERROR_MEMORY) &&
               TAP_TRUE(!capture) && TAP_EQ(free_before, free_after),
           "if an allocation fails, the file is closed again");
}

/* --- Formats --- */

static void test_formats(void) {
    static const struct {
        const char *bytes;
        enum carry_capture_format format;
        const char *name, *text;
    } files[] = {
        {"iptrace", CARRY_CAPTURE_FORMAT_IPTRACE, "iptrace", "not a capture but an iptrace file"},
        {"XCP\0002.002", CARRY_CAPTURE_FORMAT_NETXRAY, "netxray",
         "not a capture but a NetXray or Windows Sniffer file"},
        {"hello", CARRY_CAPTURE_FORMAT_UNKNOWN, "none",
         "not a capture: it starts with 68 65 6c 6c"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct carry_capture_packet *packet;
        struct carry_capture *capture;
        carry_capture_open_memory(files[i].bytes, 5, &capture, NULL);
        tap_ok(TAP_EQ(carry_capture_format(capture), files[i].format) &&
                   TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_UNRECOGNISED) &&
                   TAP_STREQ(carry_capture_last_error(capture)->text, files[i].text) &&
                   TAP_EQ(carry_capture_format(capture), files[i].format) &&
                   TAP_STREQ(carry_capture_format_name(files[i].format), files[i].name),
               "%s is recognised, and not read", files[i].name);
        carry_capture_close(capture);
    }
    tap_ok(TAP_STREQ(carry_capture_format_name(CARRY_CAPTURE_FORMAT_COUNT), "unknown"),
           "a number that is no format is unknown");
}

/* Tests options that are shorter than their values: the bytes after an option must not be read as
   its value. */
static void test_short_options(void) {
    static const char file[] = "\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0" /* a section */
                               "\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0"
                               "\1\0\0\0\x20\0\0\0\1\0\0\0\0\0\0\0" /* an interface */
                               "\x0e\0\4\0\7\0\0\0\0\0\0\0\x20\0\0\0"
                               "\6\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0" /* a packet */
                               "\4\0\0\0\4\0\0\0data\2\0\2\0\xff\xff\0\0\0\0\0\0\x30\0\0";
    const struct carry_capture_packet *packet = NULL;
    struct carry_capture *capture;
    carry_capture_open_memory(file, sizeof file, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_next(capture, &packet), CARRY_CAPTURE_PACKET) &&
               TAP_EQ(packet->time_ns, 5000) && TAP_TRUE(!packet->flags),
           "options of pcapng that are too short are ignored");
    carry_capture_close(capture);
}

static const char *problem_behind(const struct bytes *pcap, const uint8_t header[24]) {
    static char text[sizeof(struct carry_capture_error)];
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture *capture;
    sink.write(&bowl, pcap->data, pcap->size);
    sink.write(&bowl, header, 24);
    carry_capture_open_memory(bowl.bytes.data, bowl.bytes.size, &capture, NULL);
    read_all(capture);
    strcpy(text, carry_capture_last_error(capture)->text);
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
    return text;
}

static void test_second(const struct bytes *pcap) {
    uint8_t header[24];
    memcpy(header, pcap->data, sizeof header);
    bool ok = strstr(problem_behind(pcap, header), "a second capture starts here");
    header[8] = header[11] = 0x7f; /* its time zone, in either byte order */
    ok &= strstr(problem_behind(pcap, header), "record claims") != NULL;
    tap_ok(ok, "a second capture is distinguished from damage");
}

/* Tests a padding record whose size is 0, which a reader could never get past. */
static void test_empty_padding(void) {
    static const uint8_t record[64] = {[8] = 48};
    struct carry_capture *capture;
    tap_ok(TAP_EQ(carry_capture_open_memory(record, sizeof record, &capture, NULL), CARRY_OK) &&
               TAP_EQ(carry_capture_format(capture), CARRY_CAPTURE_FORMAT_UNKNOWN),
           "padding of ERF without a size is an error");
    carry_capture_close(capture);
}

static void test_compressions(void) {
    static const struct {
        const char *bytes, *name, *package;
    } files[] = {
        {"\x1f\x8b\x08\0", "gzip", "zlib"}, {"\x28\xb5\x2f\xfd", "zstd", "libzstd"},
        {"\xfd\x37zX", "xz", "liblzma"},    {"\x04\x22\x4d\x18", "lz4", "liblz4"},
        {"BZh9", "bzip2", "bzip2"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char cut[64], lacks[128];
        const struct carry_capture_packet *packet;
        struct carry_capture *capture;
        carry_capture_open_memory(files[i].bytes, 4, &capture, NULL);
        const int result = carry_capture_next(capture, &packet);
        const char *text = carry_capture_last_error(capture)->text;
        snprintf(cut, sizeof cut, "cut %s stream", files[i].name);
        snprintf(lacks, sizeof lacks,
                 "not a capture but compressed with %s, and this build lacks %s", files[i].name,
                 files[i].package);
        tap_ok(result == CARRY_ERROR_DAMAGED
                   ? TAP_STREQ(text, cut)
                   : (TAP_EQ(result, CARRY_ERROR_UNRECOGNISED) && TAP_STREQ(text, lacks)),
               "%s: the stream is unpacked, or the missing library is named", files[i].name);
        carry_capture_close(capture);
    }
}

/* Tests files that begin like compressed ones. */
static void test_near_magic(void) {
    static const char *const files[] = {"BZh0", "BZh:"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct carry_capture_packet *packet;
        struct carry_capture *capture;
        carry_capture_open_memory(files[i], 4, &capture, NULL);
        tap_ok(TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_UNRECOGNISED) &&
                   TAP_TRUE(!carry_capture_is_compressed(capture)),
               "%s is not unpacked", files[i]);
        carry_capture_close(capture);
    }
}

/* Tests a stream of xz with an unknown flag. */
static void test_unknown_options(void) {
    static const char file[] = "\xfd\x37zXZ\0\0\x10\x9b\x02\x6e\x5c";
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    carry_capture_open_memory(file, 12, &capture, NULL);
    const int result = carry_capture_next(capture, &packet);
    if (result == CARRY_ERROR_UNRECOGNISED)
        tap_skip("xz", "built without what unpacks it");
    else
        tap_ok(TAP_EQ(result, CARRY_ERROR_DAMAGED) &&
                   TAP_STREQ(carry_capture_last_error(capture)->text,
                             "corrupt xz stream: unknown options"),
               "unknown options of xz are an error");
    carry_capture_close(capture);
}

/* The last unpacked byte exactly fills the window. */
static void test_full_window(void) {
    struct bytes plain = make_skipped(WINDOW_BYTES - 28);
    struct bytes files[] = {make_gzip(&plain), make_zstd(&plain), make_xz(&plain),
                            make_lz4(&plain)};
    bool ok = TAP_EQ(plain.size, WINDOW_BYTES);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct reading reading = read_memory(&files[i], files[i].size);
        ok &= reading.result == CARRY_CAPTURE_END || reading.result == CARRY_ERROR_UNRECOGNISED;
        bytes_free(&files[i]);
    }
    bytes_free(&plain);
    tap_ok(ok, "a stream that ends where the window ends is read completely");
}

static void test_allocations(const struct bytes *bytes, const char *name) {
    bool ok = true, done = false;
    const long before = allocations_alive();
    for (unsigned number = 1; !done && ok; number++) {
        struct carry_capture *capture;
        struct carry_capture_error error;
        allocations_fail_from(number);
        if (carry_capture_open_memory(bytes->data, bytes->size, &capture, &error) != CARRY_OK) {
            ok = !capture && error.code == CARRY_ERROR_MEMORY;
            continue;
        }
        const struct reading reading = read_all(capture);
        done = allocations_count() < number;
        ok = done ? reading.result != CARRY_ERROR_MEMORY : reading.result == CARRY_ERROR_MEMORY;
        carry_capture_close(capture);
        ok &= allocations_alive() == before;
    }
    allocations_fail_from(0);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(done),
           "%s: if any allocation fails, the result is an error, and no memory is lost", name);
}

static void test_format_without_memory(const struct bytes *packed) {
    struct feed feed = feed_of(packed);
    struct carry_capture *capture = open_feed(&feed);
    allocations_fail_from(1);
    const enum carry_capture_format format = carry_capture_format(capture);
    allocations_fail_from(0);
    if (carry_capture_last_error(capture)->code == CARRY_OK && format == CARRY_CAPTURE_FORMAT_GZIP)
        tap_skip("the format of what is compressed", "built without what unpacks it");
    else
        tap_ok(TAP_EQ(format, CARRY_CAPTURE_FORMAT_UNKNOWN) &&
                   TAP_EQ(carry_capture_last_error(capture)->code, CARRY_ERROR_MEMORY),
               "if unpacking fails for lack of memory, the format is unknown");
    carry_capture_close(capture);
}

static void test_all_allocations(const struct bytes *pcapng) {
    static const uint8_t bzip2[] = "BZh9";
    const struct bytes cut = {(uint8_t *)(uintptr_t)bzip2, 4};
    struct bytes large = make_large();
    struct bytes files[] = {make_gzip(pcapng), make_xz(pcapng)};
    test_allocations(pcapng, "pcapng");
    test_allocations(&large, "a large packet");
    test_allocations(&files[0], "gzip");
    test_allocations(&files[1], "xz");
    test_allocations(&cut, "bzip2");
    test_format_without_memory(&files[0]);
    bytes_free(&large);
    bytes_free(&files[0]);
    bytes_free(&files[1]);
}

/*
 * A compressed capture yields the packets of the plain capture, with their offsets in the plain
 * capture.
 */
static void test_compressed(const struct bytes *plain, struct bytes packed, const char *name) {
    const struct reading whole = read_memory(plain, plain->size);
    const struct reading unpacked = read_memory(&packed, packed.size);
    if (unpacked.result == CARRY_ERROR_UNRECOGNISED) {
        tap_skip(name, "built without what unpacks it");
    } else {
        tap_ok(is_same(&unpacked, &whole), "%s: the same packets", name);
        test_pieces(&packed, name);
        test_cuts(&packed, 0, 1, name);
        test_rewind(&packed);
        test_failing_reads(&packed);
    }
    bytes_free(&packed);
}

int main(void) {
    struct bytes pcapng = make_capture(CARRY_CAPTURE_FORMAT_PCAPNG);
    struct bytes pcap = make_capture(CARRY_CAPTURE_FORMAT_PCAP);
    struct bytes snoop = make_snoop(), erf = make_erf(), netmon = make_netmon();
    test_pieces(&pcapng, "pcapng");
    test_pieces(&pcap, "pcap");
    test_pieces(&snoop, "snoop");
    test_pieces(&erf, "erf");
    test_pieces(&netmon, "netmon");
    /*
     * A pcapng file can be cut after the section, after either interface, and after any packet
     * except the last. Other formats have one header, or none, before the packets.
     */
    test_cuts(&pcapng, 3 + CAPTURE_PACKETS - 1, 1, "pcapng");
    test_cuts(&pcap, 1 + CAPTURE_PACKETS - 1, 1, "pcap");
    test_cuts(&snoop, 1 + CAPTURE_PACKETS - 1, 1, "snoop");
    /* To recognise ERF, a reader needs a record and the header of the next record. */
    test_cuts(&erf, CAPTURE_PACKETS - 1, 104 + 16, "erf");
    /* Without the whole table, packets of Network Monitor are not found. */
    test_cuts(&netmon, 0, 1, "netmon");
    test_final_error(&pcapng);
    test_failing_reads(&pcapng);
    test_failing_reads(&erf);
    test_failing_reads(&netmon);
    test_position(&pcapng);
    test_source_that_lies();
    test_failing_rewind(&pcapng);
    test_rewind(&pcapng);
    test_compressed(&pcapng, make_gzip(&pcapng), "gzip");
    test_compressed(&pcapng, make_zstd(&pcapng), "zstd");
    test_compressed(&pcapng, make_xz(&pcapng), "xz");
    test_compressed(&pcapng, make_lz4(&pcapng), "lz4");
    test_descriptor(&pcapng);
    test_pipe(&pcapng);
    test_stop(&pcapng);
    test_stopped_file();
    test_unopened();
    test_open_without_memory();
    test_formats();
    test_short_options();
    test_second(&pcap);
    test_empty_padding();
    test_compressions();
    test_near_magic();
    test_unknown_options();
    test_full_window();
    test_all_allocations(&pcapng);
    bytes_free(&pcapng);
    bytes_free(&pcap);
    bytes_free(&snoop);
    bytes_free(&erf);
    bytes_free(&netmon);
    return tap_done();
}
