/* SPDX-License-Identifier: MIT */
/*
 * Tests repairing captures and explaining their frames: with sinks that can rewrite and sinks that
 * cannot, with captures in pieces and cut captures, with failures and cancellation at every call,
 * and with failing allocations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/effort.h"
#include "harness/tap.h"

enum { IP = CARRY_PROTOCOL_IP, TCP = CARRY_PROTOCOL_TCP, UDP = CARRY_PROTOCOL_UDP };

#define WINDOW_BYTES ((size_t)128 << 10) /* captures are read in windows of this size */
#define BLOCK_BYTES  4096                /* changes are written in blocks of this size */

/* The changes that callbacks received, and when they cancel. */
struct heard {
    unsigned changes, left, calls;
    unsigned cancels_at; /* the number of the call, from 1; 0: none */
    unsigned last_left;
};

static bool hear_change(void *user, const struct carry_capture_change *change) {
    struct heard *heard = user;
    heard->changes += !change->is_left;
    heard->left += change->is_left;
    heard->last_left = change->is_left ? change->left : heard->last_left;
    return ++heard->calls != heard->cancels_at;
}

static bool hear_progress(void *user, const struct carry_capture_progress *progress) {
    struct heard *heard = user;
    (void)progress;
    return ++heard->calls != heard->cancels_at;
}

static struct carry_capture_fix_options options_for(struct heard *heard, uint32_t fix) {
    return (struct carry_capture_fix_options){
        .packet.fix = fix, .change = hear_change, .progress = hear_progress, .user = heard};
}

static int fix(struct feed *feed, const struct carry_capture_fix_options *options,
               struct bowl *bowl, struct carry_capture_repairs **repairs) {
    const struct carry_capture_sink sink = sink_of(bowl);
    struct carry_capture *capture = open_feed(feed);
    int code = carry_capture_fix(capture, options, &sink, repairs);
    if (code != carry_capture_last_error(capture)->code)
        code = 1;
    carry_capture_close(capture);
    return code;
}

/* Returns how many checksums of a capture are bad, illegal or partial. */
static uint64_t count_imperfect(const struct bytes *bytes) {
    struct carry_capture_summary *summary;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    carry_capture_check(capture, NULL, &summary);
    uint64_t count =
        carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS | 1u << CARRY_VERDICT_PARTIAL);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    return count;
}

static unsigned count_differences(const struct bytes *a, const struct bytes *b) {
    unsigned count = 0;
    for (size_t i = 0; i < a->size && a->size == b->size; i++)
        count += a->data[i] != b->data[i];
    return count;
}

/* --- The copy --- */

static void test_copy(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct bowl bowl = {0};
    struct heard heard = {0};
    const struct carry_capture_fix_options options = options_for(&heard, 0);
    struct carry_capture_repairs *repairs;
    int code = fix(&feed, &options, &bowl, &repairs);
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(repairs);
    tap_ok(TAP_EQ(code, CARRY_OK) && TAP_EQ(bowl.bytes.size, bytes->size) &&
               TAP_EQ(count_imperfect(bytes), 6) && TAP_EQ(count_imperfect(&bowl.bytes), 0),
           "the copy has the same size, and all its sums are right");
    tap_ok(TAP_EQ(totals->packets, CAPTURE_PACKETS) && TAP_EQ(totals->repaired, 6) &&
               TAP_EQ(totals->left_wrong, 0) && TAP_EQ(totals->changed_packets, 5) &&
               TAP_EQ(heard.changes, 6) && TAP_EQ(heard.left, 0) &&
               TAP_LE(count_differences(bytes, &bowl.bytes), 12),
           "the copy differs only in repaired sums");
    tap_ok(TAP_EQ(carry_capture_repaired(repairs, TCP, CARRY_VERDICT_BAD), 1) &&
               TAP_EQ(carry_capture_repaired(repairs, TCP, CARRY_VERDICT_PARTIAL), 1) &&
               TAP_EQ(carry_capture_repaired(repairs, IP, CARRY_VERDICT_PARTIAL), 2) &&
               TAP_EQ(carry_capture_repaired(repairs, UDP, CARRY_VERDICT_ILLEGAL), 1) &&
               TAP_EQ(carry_capture_repaired(repairs, UDP, CARRY_VERDICT_BAD), 1),
           "repairs are counted by protocol and verdict");
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
}

static void test_only(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct bowl bowl = {0};
    struct heard heard = {0};
    const struct carry_capture_fix_options options =
        options_for(&heard, 1u << CARRY_VERDICT_PARTIAL);
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture = open_feed(&feed);
    bool twice = carry_capture_fix_reads_twice(capture, &options) &&
                 !carry_capture_fix_reads_twice(capture, NULL);
    carry_capture_close(capture);
    int code = fix(&feed, &options, &bowl, &repairs);
    const struct carry_capture_group *group =
        carry_capture_left_group(repairs, TCP, CARRY_VERDICT_BAD, CARRY_CAPTURE_LEFT_ONLY);
    tap_ok(TAP_TRUE(twice) && TAP_EQ(code, CARRY_OK) &&
               TAP_EQ(carry_capture_repair_totals(repairs)->repaired, 3) &&
               TAP_EQ(carry_capture_repair_totals(repairs)->left_wrong, 3) &&
               TAP_EQ(group->count, 1) && TAP_EQ(group->frames[0], 2) &&
               TAP_EQ(carry_capture_left(repairs, TCP, CARRY_VERDICT_BAD), 1),
           "only partial sums are repaired, and the others are reported");
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
}

/* Sums that are not repaired are counted by the verdicts that a check of the copy gives. */
static void test_only_bad(const struct bytes *bytes) {
    struct feed feed = feed_of(bytes);
    struct bowl bowl = {0};
    struct heard heard = {0};
    const struct carry_capture_fix_options options = options_for(&heard, 1u << CARRY_VERDICT_BAD);
    struct carry_capture_repairs *repairs;
    int code = fix(&feed, &options, &bowl, &repairs);
    tap_ok(TAP_EQ(code, CARRY_OK) && TAP_EQ(carry_capture_repair_totals(repairs)->repaired, 2) &&
               TAP_EQ(carry_capture_left(repairs, IP, CARRY_VERDICT_PARTIAL), 2) &&
               TAP_EQ(carry_capture_left(repairs, IP, CARRY_VERDICT_BAD), 0) &&
               TAP_EQ(carry_capture_left(repairs, TCP, CARRY_VERDICT_PARTIAL), 1) &&
               TAP_EQ(count_imperfect(&bowl.bytes), 4),
           "only bad sums are repaired; IPv4 checksums of 0 remain partial");
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
}

static void test_dry(const struct bytes *bytes) {
    struct carry_capture_repairs *repairs;
    struct feed feed = feed_of(bytes);
    struct carry_capture *capture = open_feed(&feed);
    bool ok = TAP_EQ(carry_capture_fix(capture, NULL, NULL, &repairs), CARRY_OK) &&
              TAP_EQ(carry_capture_repair_totals(repairs)->left_wrong, 0);
    carry_capture_repairs_free(repairs);
    tap_ok(ok, "without a sink the report is the same");
    ok = TAP_EQ(carry_capture_fix(capture, NULL, NULL, &repairs), CARRY_ERROR_INVALID) &&
         TAP_TRUE(repairs);
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    tap_ok(ok, "a partly read capture is refused");
}

/* Repairs a stream whose fragments are in one window (`bytes`), and in two windows (`apart`). */
static void test_stream(const struct bytes *bytes, const struct bytes *apart) {
    const struct bytes *captures[] = {bytes, apart};
    for (unsigned i = 0; i < 2; i++) {
        struct feed feed = feed_of(captures[i]);
        struct bowl bowl = {0};
        struct heard heard = {0};
        const struct carry_capture_fix_options options = options_for(&heard, 0);
        struct carry_capture_sink sink = sink_of(&bowl);
        struct carry_capture_repairs *repairs;
        struct carry_capture *capture = open_feed(&feed);
        sink.rewrite = NULL;
        bool ok = carry_capture_fix(capture, &options, &sink, &repairs) == CARRY_OK &&
                  bowl.bytes.size == captures[i]->size;
        const uint64_t written =
            carry_capture_left_group(repairs, UDP, CARRY_VERDICT_BAD, CARRY_CAPTURE_LEFT_WRITTEN)
                ->count;
        tap_ok(
            TAP_TRUE(ok) && TAP_EQ(written, i) && TAP_EQ(heard.left, i) &&
                TAP_EQ(count_imperfect(&bowl.bytes), i),
            i ? "a sink that cannot rewrite keeps written packets unchanged, and this is reported"
              : "a sink that cannot rewrite makes no difference before packets are written");
        carry_capture_repairs_free(repairs);
        carry_capture_close(capture);
        bytes_free(&bowl.bytes);
    }
}

/*
 * A source that reports before each piece that no data is available, and checks what the stream has
 * received by then.
 */
struct trickle {
    const struct bytes *bytes;
    const size_t *ends; /* the offsets after the headers and after each packet */
    size_t count, next;
    bool waits;
    const struct bowl *bowl;
    unsigned late; /* pieces that had not arrived in the sink when the next one was read */
};

static int64_t read_trickle(void *user, void *buffer, size_t size) {
    struct trickle *trickle = user;
    const size_t at = trickle->next ? trickle->ends[trickle->next - 1] : 0;
    trickle->waits = !trickle->waits;
    if (trickle->waits)
        return -EAGAIN;
    trickle->late += trickle->bowl->bytes.size != at;
    if (trickle->next == trickle->count)
        return 0;
    const size_t piece = trickle->ends[trickle->next++] - at;
    if (piece > size)
        return -EIO;
    memcpy(buffer, trickle->bytes->data + at, piece);
    return (int64_t)piece;
}

/* Fills `ends` with the offsets after the headers and after each packet. Returns their number. */
static size_t find_ends(const struct bytes *bytes, size_t tail, size_t ends[CAPTURE_PACKETS + 1]) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    size_t count = 0;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        const size_t padded = tail ? (packet->captured + 3) / 4 * 4 : packet->captured;
        if (!count)
            ends[count++] = (size_t)packet->offset - (tail ? 28 : 16);
        ends[count++] = (size_t)packet->offset + padded + tail;
    }
    carry_capture_close(capture);
    return count;
}

/* A packet is written before the next one is read: it is not delayed. */
static void test_delay(enum carry_capture_format format) {
    struct bytes bytes = make_capture(format);
    struct bowl bowl = {0};
    size_t ends[CAPTURE_PACKETS + 1];
    const size_t count = find_ends(&bytes, format == CARRY_CAPTURE_FORMAT_PCAPNG ? 4 : 0, ends);
    struct trickle trickle = {.bytes = &bytes, .ends = ends, .count = count, .bowl = &bowl};
    const struct carry_capture_source source = {.read = read_trickle, .user = &trickle};
    struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    sink.rewrite = NULL;
    carry_capture_open_source(&source, &capture, NULL);
    const bool ok = carry_capture_fix(capture, NULL, &sink, &repairs) == CARRY_OK &&
                    count == CAPTURE_PACKETS + 1 && ends[count - 1] == bytes.size;
    const struct carry_capture_group *written =
        carry_capture_left_group(repairs, UDP, CARRY_VERDICT_BAD, CARRY_CAPTURE_LEFT_WRITTEN);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(trickle.next, count) && TAP_EQ(trickle.late, 0) &&
               TAP_EQ(bowl.bytes.size, bytes.size),
           "%s: a stream receives each packet before the next one is read",
           carry_capture_format_name(format));
    tap_ok(TAP_EQ(written->count, 1) && TAP_EQ(count_imperfect(&bowl.bytes), 1),
           "a stream does not wait for a datagram");
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
    bytes_free(&bytes);
}

/* The end of a window separates some fragments, but they are close to each other. */
static void test_near_fragments(void) {
    struct bytes bytes = make_long_capture(1000);
    struct bowl bowl = {0};
    struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    sink.rewrite = NULL;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    const bool ok = carry_capture_fix(capture, NULL, &sink, &repairs) == CARRY_OK &&
                    carry_capture_repaired(repairs, UDP, CARRY_VERDICT_BAD) == 1000;
    tap_ok(TAP_TRUE(ok) && TAP_EQ(bowl.bytes.size, bytes.size) &&
               TAP_EQ(count_imperfect(&bowl.bytes), 0),
           "a stream that need not wait holds fragments until their datagram is complete");
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
    bytes_free(&bytes);
}

/* Returns a capture with the second fragment of the datagram long before the first one. */
static struct bytes pull_apart(const struct bytes *bytes) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    const struct carry_capture_packet *packet;
    struct carry_capture_writer *writer;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    carry_capture_writer_create(NULL, &sink, &writer);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        for (unsigned i = 0; packet->number == 6 && i < 4000; i++)
            carry_capture_writer_add(writer, packet, NULL);
        carry_capture_writer_add(writer, packet, NULL);
    }
    carry_capture_writer_free(writer);
    carry_capture_close(capture);
    return bowl.bytes;
}

/* Writes a packet of a capture `count` times. */
static void write_some(struct carry_capture_writer *writer, const struct bytes *bytes,
                       unsigned number, unsigned count) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET)
        for (unsigned i = 0; packet->number == number && i < count; i++)
            carry_capture_writer_add(writer, packet, NULL);
    carry_capture_close(capture);
}

/* Returns a capture with the first fragment twice, long before the second one. */
static struct bytes pull_first(const struct bytes *bytes) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    carry_capture_writer_create(NULL, &sink, &writer);
    write_some(writer, bytes, 7, 2);
    write_some(writer, bytes, 1, 4000);
    write_some(writer, bytes, 5, 1);
    carry_capture_writer_free(writer);
    return bowl.bytes;
}

/* Returns a capture with one fragment before the end of the first window, and one after it. */
static struct bytes put_around_end(const struct bytes *bytes) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    carry_capture_writer_create(NULL, &sink, &writer);
    while (bowl.bytes.size < WINDOW_BYTES - 500)
        write_some(writer, bytes, 1, 1);
    write_some(writer, bytes, 7, 1);
    write_some(writer, bytes, 1, 10);
    write_some(writer, bytes, 5, 1);
    carry_capture_writer_free(writer);
    return bowl.bytes;
}

/* Returns a capture of more than one window, the first of which has bad packets at its beginning,
   in its middle and in its last block. */
static struct bytes put_far_apart(const struct bytes *bytes) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_writer *writer;
    carry_capture_writer_create(NULL, &sink, &writer);
    write_some(writer, bytes, 2, 1);
    write_some(writer, bytes, 10, 1); /* so that no record ends where the window does */
    write_some(writer, bytes, 1, 200);
    write_some(writer, bytes, 2, 1);
    while (bowl.bytes.size < WINDOW_BYTES - 2000)
        write_some(writer, bytes, 1, 1);
    write_some(writer, bytes, 2, 1);
    write_some(writer, bytes, 1, 1000);
    carry_capture_writer_free(writer);
    return bowl.bytes;
}

static void test_rewritten(const struct bytes *apart) {
    struct feed feed = feed_of(apart);
    struct bowl bowl = {0};
    struct heard heard = {0};
    const struct carry_capture_fix_options options = options_for(&heard, 0);
    struct carry_capture_repairs *repairs;
    bool ok = TAP_EQ(fix(&feed, &options, &bowl, &repairs), CARRY_OK) && TAP_EQ(heard.left, 0) &&
              TAP_EQ(count_imperfect(&bowl.bytes), 0);
    tap_ok(ok, "a sink that can rewrite repairs packets that were written before");
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
}

/* --- Sinks that hold the bytes --- */

struct place {
    struct bytes bytes;
    unsigned calls, fails_at;
    unsigned parts; /* calls with a part of a block that is not the last one */
    size_t written;
};

static int rewrite_place(void *user, uint64_t offset, const void *bytes, size_t size) {
    struct place *place = user;
    if (++place->calls == place->fails_at)
        return -ENOSPC;
    if (offset > place->bytes.size || size > place->bytes.size - offset)
        return -EINVAL;
    memcpy(place->bytes.data + offset, bytes, size);
    place->written += size;
    place->parts +=
        offset % BLOCK_BYTES || (size % BLOCK_BYTES && offset + size < place->bytes.size);
    return 0;
}

static int fix_place(const struct bytes *bytes, struct place *place) {
    const struct carry_capture_sink sink = {.rewrite = rewrite_place, .user = place};
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs;
    memcpy(place->bytes.data, bytes->data, bytes->size);
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    const int code = carry_capture_fix(capture, NULL, &sink, &repairs);
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    return code;
}

/* Changes are written in whole blocks, except those of fragments that left the window. */
static void test_places(const struct bytes *apart, const struct bytes *sparse,
                        const struct bytes *far) {
    struct bytes near = make_long_capture(3000);
    const struct bytes *captures[] = {&near, apart, sparse, far};
    bool ok = true;
    for (unsigned i = 0; i < 4; i++) {
        const struct bytes *bytes = captures[i];
        struct place place = {.bytes = {malloc(bytes->size), bytes->size}};
        struct feed feed = feed_of(bytes);
        struct bowl bowl = {0};
        struct carry_capture_repairs *repairs;
        ok &= TAP_EQ(fix(&feed, NULL, &bowl, &repairs), CARRY_OK);
        carry_capture_repairs_free(repairs);
        ok &= TAP_EQ(fix_place(bytes, &place), CARRY_OK) &&
              TAP_MEMEQ(place.bytes.data, bowl.bytes.data, bytes->size) &&
              TAP_LE(place.calls, 2 * (bytes->size / WINDOW_BYTES + 1)) &&
              TAP_EQ(place.parts, captures[i] == sparse ? 2 : 0) &&
              TAP_LE(place.written, i < 2 ? bytes->size : 4 * BLOCK_BYTES);
        bytes_free(&place.bytes);
        bytes_free(&bowl.bytes);
    }
    bytes_free(&near);
    tap_ok(ok, "a sink that holds all bytes gets the blocks that change");
}

static void test_failing_place(const struct bytes *bytes) {
    bool ok = true, failed = true;
    for (unsigned at = 1; failed && ok; at++) {
        struct place place = {.bytes = {malloc(bytes->size), bytes->size}, .fails_at = at};
        const int code = fix_place(bytes, &place);
        failed = place.calls >= at;
        ok = TAP_EQ(code, failed ? CARRY_ERROR_WRITE : CARRY_OK);
        bytes_free(&place.bytes);
    }
    tap_ok(ok, "a failed change returns its error");
}

/* A source that pauses before each piece. */
struct pulse {
    struct feed feed;
    bool waits;
};

static int64_t read_pulse(void *user, void *buffer, size_t size) {
    struct pulse *pulse = user;
    const struct carry_capture_source source = source_of(&pulse->feed);
    pulse->waits = !pulse->waits;
    return pulse->waits ? -EAGAIN : source.read(source.user, buffer, size);
}

/* When the window is full, everything in it has been written, including a fragment. */
static void test_stream_that_waits(const struct bytes *bytes) {
    struct bytes around = put_around_end(bytes);
    struct pulse pulse = {.feed = feed_of(&around)};
    const struct carry_capture_source source = {.read = read_pulse, .user = &pulse};
    struct bowl bowl = {0};
    struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    pulse.feed.piece = 50;
    sink.rewrite = NULL;
    carry_capture_open_source(&source, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_fix(capture, NULL, &sink, &repairs), CARRY_OK) &&
               TAP_EQ(bowl.bytes.size, around.size) && TAP_EQ(count_imperfect(&bowl.bytes), 1) &&
               TAP_MEMEQ(bowl.bytes.data, around.data, around.size),
           "bytes that a stream wrote during a pause are not written again");
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    bytes_free(&bowl.bytes);
    bytes_free(&around);
}

/*
 * The repaired copy of a compressed capture is not compressed. The capture is read twice, because
 * only some verdicts are repaired.
 */
static void test_compressed(const struct bytes *plain, struct bytes packed, const char *name) {
    struct heard heard = {0};
    const struct carry_capture_fix_options options =
        options_for(&heard, 1u << CARRY_VERDICT_PARTIAL);
    const struct bytes *inputs[] = {plain, &packed};
    struct bowl bowls[2] = {{.calls = 0}};
    int codes[2];
    for (unsigned i = 0; i < 2; i++) {
        struct feed feed = feed_of(inputs[i]);
        struct carry_capture_repairs *repairs;
        codes[i] = fix(&feed, &options, &bowls[i], &repairs);
        carry_capture_repairs_free(repairs);
    }
    if (codes[1] == CARRY_ERROR_UNRECOGNISED)
        tap_skip(name, "built without what unpacks it");
    else
        tap_ok(TAP_EQ(codes[0], CARRY_OK) && TAP_EQ(codes[1], CARRY_OK) &&
                   TAP_EQ(bowls[0].bytes.size, bowls[1].bytes.size) &&
                   TAP_MEMEQ(bowls[0].bytes.data, bowls[1].bytes.data, bowls[0].bytes.size),
               "%s: the copy is not compressed, and its sums are repaired", name);
    for (unsigned i = 0; i < 2; i++)
        bytes_free(&bowls[i].bytes);
    bytes_free(&packed);
}

/* --- Pieces, cuts, failures --- */

static void test_pieces(const struct bytes *bytes, size_t stride) {
    struct feed whole = feed_of(bytes);
    struct bowl expected = {0};
    struct carry_capture_repairs *repairs;
    fix(&whole, NULL, &expected, &repairs);
    carry_capture_repairs_free(repairs);
    bool ok = true;
    for (size_t piece = 1; piece < bytes->size && ok; piece += stride) {
        struct feed feed = feed_of(bytes);
        struct bowl bowl = {0};
        feed.piece = piece;
        feed.idles = 2;
        ok = TAP_EQ(fix(&feed, NULL, &bowl, &repairs), CARRY_OK) &&
             TAP_EQ(bowl.bytes.size, expected.bytes.size) &&
             TAP_MEMEQ(bowl.bytes.data, expected.bytes.data, bowl.bytes.size);
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    bytes_free(&expected.bytes);
    tap_ok(ok, "pieces of any size result in the same copy");
}

/* Damaged bytes and all bytes after them are copied. */
static void test_cuts(const struct bytes *bytes, size_t stride) {
    bool ok = true;
    for (size_t size = 4; size < bytes->size && ok; size += stride) {
        const struct bytes cut = {bytes->data, size};
        struct feed feed = feed_of(&cut);
        struct bowl bowl = {0};
        struct carry_capture_repairs *repairs;
        int code = fix(&feed, NULL, &bowl, &repairs);
        ok = TAP_TRUE(code == CARRY_OK || code == CARRY_ERROR_DAMAGED) &&
             TAP_EQ(bowl.bytes.size, size) &&
             TAP_LE(carry_capture_repair_totals(repairs)->left_wrong, 1);
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a capture cut at any byte is copied completely");
}

static void test_failing_reads(const struct bytes *bytes, size_t stride) {
    bool ok = true;
    for (size_t at = 0; at < bytes->size && ok; at += stride) {
        struct feed feed = feed_of(bytes);
        struct bowl bowl = {0};
        struct carry_capture_repairs *repairs;
        feed.fails_at = at;
        feed.piece = 8;
        feed.error = EIO;
        ok = TAP_EQ(fix(&feed, NULL, &bowl, &repairs), CARRY_ERROR_READ) && TAP_TRUE(repairs);
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a failed read returns its error");
}

/* Damaged bytes are copied with all later bytes that can be read. */
static void test_failing_rest(const struct bytes *bytes) {
    uint8_t *damaged = malloc(bytes->size);
    const struct bytes copy = {damaged, bytes->size};
    struct feed feed = feed_of(&copy);
    struct bowl bowl = {0};
    struct carry_capture_repairs *repairs;
    if (!damaged)
        abort();
    memcpy(damaged, bytes->data, bytes->size);
    memset(damaged + bytes->size / 2, 0xff, 64);
    feed.fails_at = bytes->size - 1;
    feed.piece = 16;
    feed.error = EIO;
    tap_ok(TAP_EQ(fix(&feed, NULL, &bowl, &repairs), CARRY_ERROR_READ) &&
               TAP_GT(bowl.bytes.size, bytes->size / 2 + 64),
           "a read that fails after damage returns its error");
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
    free(damaged);
}

static int rewind_fails(void *user) {
    (void)user;
    return -ESPIPE;
}

static void test_failing_rewind(const struct bytes *bytes) {
    const struct carry_capture_fix_options options = {.packet.fix = 1u << CARRY_VERDICT_BAD};
    struct feed feed = feed_of(bytes);
    struct carry_capture_source source = source_of(&feed);
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    source.rewind = rewind_fails;
    carry_capture_open_source(&source, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_fix(capture, &options, &sink, &repairs), CARRY_ERROR_READ) &&
               TAP_EQ(carry_capture_last_error(capture)->system, ESPIPE) && TAP_EQ(bowl.calls, 0),
           "a capture whose second reading fails is not copied");
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
}

static void test_failing_sink(const struct bytes *apart) {
    bool ok = true, failed = true;
    for (unsigned at = 1; failed && ok; at++) {
        struct feed feed = feed_of(apart);
        struct bowl bowl = {.fails_at = at};
        struct carry_capture_repairs *repairs;
        int code = fix(&feed, NULL, &bowl, &repairs);
        failed = bowl.calls >= at;
        ok = TAP_EQ(code, failed ? CARRY_ERROR_WRITE : CARRY_OK) && TAP_TRUE(repairs);
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a failed write or rewrite returns its error");
}

static void test_cancelled(const struct bytes *bytes) {
    bool ok = true, cancelled = true;
    for (unsigned at = 1; cancelled && ok; at++) {
        struct feed feed = feed_of(bytes);
        struct bowl bowl = {0};
        struct heard heard = {.cancels_at = at};
        const struct carry_capture_fix_options options = options_for(&heard, 0);
        struct carry_capture_repairs *repairs;
        int code = fix(&feed, &options, &bowl, &repairs);
        cancelled = heard.calls >= at;
        ok = TAP_EQ(code, cancelled ? CARRY_ERROR_CANCELLED : CARRY_OK) &&
             TAP_TRUE(!cancelled || heard.calls == at);
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a repair can be cancelled at each callback");
}

/* Progress is reported whenever a window is full, even in the first of two passes. */
static void test_cancelled_by_progress(const struct bytes *apart) {
    const uint32_t fixes[] = {0, 1u << CARRY_VERDICT_BAD};
    bool ok = true;
    for (unsigned i = 0; i < 2; i++) {
        bool cancelled = true;
        for (unsigned at = 1; cancelled && ok; at++) {
            struct feed feed = feed_of(apart);
            struct bowl bowl = {0};
            struct heard heard = {.cancels_at = at};
            const struct carry_capture_fix_options options = {
                .packet.fix = fixes[i], .progress = hear_progress, .user = &heard};
            struct carry_capture_repairs *repairs;
            int code = fix(&feed, &options, &bowl, &repairs);
            cancelled = heard.calls >= at;
            ok = TAP_EQ(code, cancelled ? CARRY_ERROR_CANCELLED : CARRY_OK) &&
                 TAP_LE(heard.calls, at) && TAP_TRUE(cancelled || bowl.bytes.size == apart->size);
            carry_capture_repairs_free(repairs);
            bytes_free(&bowl.bytes);
        }
    }
    tap_ok(ok, "a repair can be cancelled at each report of progress");
}

static void test_unrecognised(const struct bytes *bytes) {
    const struct bytes text = {(uint8_t *)(uintptr_t) "hello, world", 12};
    const struct bytes nothing = {bytes->data, 0}, cut = {bytes->data, 3};
    const struct bytes *inputs[] = {&text, &nothing, &cut};
    bool ok = true;
    for (unsigned i = 0; i < 3; i++) {
        struct feed feed = feed_of(inputs[i]);
        struct bowl bowl = {0};
        struct carry_capture_repairs *repairs;
        ok &= fix(&feed, NULL, &bowl, &repairs) == CARRY_ERROR_UNRECOGNISED && !bowl.calls;
        carry_capture_repairs_free(repairs);
    }
    tap_ok(ok, "a file that is no capture is not copied");
}

/* A capture without packets is copied completely, but refused after it was read. */
static void test_skipped(void) {
    struct bytes bytes = make_skipped(3000000);
    struct feed feed = feed_of(&bytes);
    struct bowl bowl = {0};
    struct heard heard = {0};
    const struct carry_capture_fix_options options = options_for(&heard, 0);
    const struct carry_capture_packet *packet;
    struct carry_capture_repairs *repairs;
    bool ok = TAP_EQ(fix(&feed, &options, &bowl, &repairs), CARRY_OK) && TAP_GT(heard.calls, 20) &&
              TAP_EQ(bowl.bytes.size, bytes.size) &&
              TAP_MEMEQ(bowl.bytes.data, bytes.data, bytes.size);
    carry_capture_repairs_free(repairs);
    bytes_free(&bowl.bytes);
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    ok &= carry_capture_next(capture, &packet) == CARRY_CAPTURE_END &&
          carry_capture_fix(capture, NULL, NULL, &repairs) == CARRY_ERROR_INVALID &&
          carry_capture_rewind(capture) == CARRY_OK;
    carry_capture_repairs_free(repairs);
    ok &= carry_capture_fix(capture, NULL, NULL, &repairs) == CARRY_OK;
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    bytes_free(&bytes);
    tap_ok(ok, "a capture without packets is copied completely, and refused if it was partly read");
}

/* The first callback cancels a repair whose source has no data at first. */
static void test_idle(const struct bytes *bytes) {
    const uint32_t fixes[] = {0, 1u << CARRY_VERDICT_PARTIAL};
    bool ok = true;
    for (unsigned i = 0; i < 2; i++) {
        struct feed feed = feed_of(bytes);
        struct bowl bowl = {0};
        struct heard heard = {.cancels_at = 1};
        const struct carry_capture_fix_options options = options_for(&heard, fixes[i]);
        struct carry_capture_repairs *repairs;
        feed.idles = 1000;
        ok &= fix(&feed, &options, &bowl, &repairs) == CARRY_ERROR_CANCELLED && heard.calls == 1 &&
              feed.idles == 999;
        carry_capture_repairs_free(repairs);
        bytes_free(&bowl.bytes);
    }
    tap_ok(ok, "a repair can be cancelled while it waits for the first byte");
}

static int try_to_fix(void *context) {
    const struct carry_capture_fix_options options = {.packet.fix = 1u << CARRY_VERDICT_BAD};
    const struct bytes *bytes = context;
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    int code = carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    if (code != CARRY_OK)
        return code;
    code = carry_capture_fix(capture, &options, NULL, &repairs);
    if (code == CARRY_OK && !repairs)
        code = 1;
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    return code;
}

static void test_allocations(struct bytes *bytes) {
    tap_ok(allocations_all_fail(try_to_fix, bytes),
           "if any allocation fails, the result is an error or less detail, and no memory is lost");
}

/* --- Explaining --- */

struct explained {
    unsigned frames, datagrams, lost;
    size_t fragments;
    unsigned verdict; /* of the first finding of the frame */
    bool cancels;
};

static bool note_change(void *user, const struct carry_capture_explanation *explanation) {
    struct explained *explained = user;
    const bool complete = explanation->reassembly == CARRY_CAPTURE_REASSEMBLY_COMPLETE;
    explained->frames += !explanation->is_datagram;
    explained->datagrams += explanation->is_datagram && complete;
    explained->lost += explanation->is_datagram && !complete;
    explained->fragments += explanation->frames_count;
    if (!explanation->is_datagram && explanation->findings_count)
        explained->verdict = explanation->findings[0].sum.verdict;
    return !explained->cancels;
}

/* Explains the first frame, without asking for the number of packets. */
static bool explains_first(const struct bytes *bytes, unsigned verdict) {
    struct explained explained = {0};
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    const int code = carry_capture_explain(capture, 1, note_change, &explained, NULL);
    carry_capture_close(capture);
    return code == CARRY_OK && explained.frames == 1 && explained.verdict == verdict;
}

/* Explains a frame whose verdict depends on later packets. */
static void test_explain_early(void) {
    struct bytes early = make_early_capture();
    size_t ends[CAPTURE_PACKETS + 1];
    find_ends(&early, 4, ends);
    const struct bytes alone = {early.data, ends[1]};
    tap_ok(TAP_TRUE(explains_first(&early, CARRY_VERDICT_PARTIAL)) &&
               TAP_TRUE(explains_first(&alone, CARRY_VERDICT_BAD)),
           "an IPv4 checksum of 0 waits for evidence about its sender, up to the end");
    bytes_free(&early);
}

static int explain_frame(const struct bytes *bytes, uint64_t number, struct explained *explained) {
    struct carry_capture *capture;
    uint64_t packets = 0;
    int code = carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    if (code != CARRY_OK)
        return code;
    code = carry_capture_explain(capture, number, note_change, explained, &packets);
    if (code == CARRY_ERROR_UNKNOWN && packets != CAPTURE_PACKETS)
        code = 1;
    carry_capture_close(capture);
    return code;
}

static void test_explain(const struct bytes *bytes) {
    struct explained header = {0}, fragment = {0}, lost = {0}, none = {0};
    struct explained cancelled = {.cancels = true};
    tap_ok(TAP_EQ(explain_frame(bytes, 6, &header), CARRY_OK) && TAP_EQ(header.frames, 1) &&
               TAP_EQ(header.datagrams, 0) && TAP_EQ(header.verdict, CARRY_VERDICT_PARTIAL),
           "a frame is judged by its sender's other frames");
    tap_ok(TAP_EQ(explain_frame(bytes, 5, &fragment), CARRY_OK) && TAP_EQ(fragment.frames, 1) &&
               TAP_EQ(fragment.datagrams, 1) && TAP_EQ(fragment.fragments, 2),
           "a fragment is explained with the datagram that later frames complete");
    tap_ok(TAP_EQ(explain_frame(bytes, 9, &lost), CARRY_OK) && TAP_EQ(lost.frames, 1) &&
               TAP_EQ(lost.lost, 1),
           "a fragment whose datagram remains incomplete is explained");
    tap_ok(TAP_EQ(explain_frame(bytes, 0, &none), CARRY_ERROR_INVALID) && TAP_EQ(none.frames, 0),
           "packet 0 is refused");
    tap_ok(TAP_EQ(explain_frame(bytes, CAPTURE_PACKETS + 1, &none), CARRY_ERROR_UNKNOWN) &&
               TAP_EQ(none.frames, 0) &&
               TAP_EQ(explain_frame(bytes, 5, &cancelled), CARRY_ERROR_CANCELLED) &&
               TAP_EQ(cancelled.frames, 1),
           "a missing frame is reported, and cancellation works");
}

/* The frame is explained first, so errors that concern its datagram follow this explanation. */
static int try_to_explain(void *context) {
    struct explained explained = {0};
    const int code = explain_frame(context, 5, &explained);
    return code == CARRY_OK && explained.frames != 1 ? 1 : code;
}

static void test_explain_allocations(struct bytes *bytes) {
    tap_ok(allocations_all_fail(try_to_explain, bytes),
           "if any allocation fails, the result is an error or less detail, and no memory is lost");
}

int main(void) {
    const struct effort *effort = effort_chosen();
    struct bytes bytes = make_capture(CARRY_CAPTURE_FORMAT_PCAPNG);
    struct bytes apart = pull_apart(&bytes), first = pull_first(&bytes);
    struct bytes far = put_far_apart(&bytes);
    effort_note(effort);
    test_copy(&bytes);
    test_only(&bytes);
    test_only_bad(&bytes);
    test_dry(&bytes);
    test_stream(&bytes, &apart);
    test_near_fragments();
    test_delay(CARRY_CAPTURE_FORMAT_PCAP);
    test_delay(CARRY_CAPTURE_FORMAT_PCAPNG);
    test_stream_that_waits(&bytes);
    test_rewritten(&apart);
    test_rewritten(&first);
    test_places(&apart, &first, &far);
    test_failing_place(&apart);
    test_failing_place(&first);
    test_failing_place(&far);
    test_compressed(&bytes, make_gzip(&bytes), "gzip");
    test_compressed(&bytes, make_zstd(&bytes), "zstd");
    test_pieces(&bytes, effort->stride);
    test_cuts(&bytes, effort->stride);
    test_failing_reads(&bytes, effort->stride);
    test_failing_rest(&bytes);
    test_failing_rewind(&bytes);
    test_failing_sink(&apart);
    test_failing_sink(&first);
    test_cancelled(&bytes);
    test_cancelled_by_progress(&apart);
    test_unrecognised(&bytes);
    test_skipped();
    test_idle(&bytes);
    test_allocations(&bytes);
    test_explain(&bytes);
    test_explain_early();
    test_explain_allocations(&bytes);
    bytes_free(&apart);
    bytes_free(&first);
    bytes_free(&far);
    bytes_free(&bytes);
    return tap_done();
}
