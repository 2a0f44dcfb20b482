/* SPDX-License-Identifier: MIT */
/*
 * Tests compressed captures that threads unpack in parts: the results are those of reading them,
 * whatever the parts, threads and damage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/check_pieces.h"
#include "harness/rng.h"
#include "harness/tap.h"
#include "stream_parts.h"
#include "unpack_method.h"

#define COPIES 40

#define STREAM_BYTES_MAX 60000

/* The most bytes that a block of zstd unpacks to. */
#define ZSTD_BLOCK_BYTES ((uint32_t)128 << 10)

/* Returns the bytes as a block of BGZF: a gzip member that says how large it is. */
static struct bytes make_bgzf(const struct bytes *bytes) {
    struct bytes gzip = make_gzip(bytes), bgzf = {0};
    const size_t last = gzip.size + 8 - 1;
    const uint8_t extra[] = {6, 0, 'B', 'C', 2, 0, (uint8_t)last, (uint8_t)(last >> 8)};
    gzip.data[3] = 4; /* it has an extra field */
    bytes_append(&bgzf, gzip.data, 10);
    bytes_append(&bgzf, extra, sizeof extra);
    bytes_append(&bgzf, gzip.data + 10, gzip.size - 10);
    bytes_free(&gzip);
    return bgzf;
}

/* Returns zeros in a zstd frame, in which a few bytes stand for each block. */
static struct bytes make_zstd_zeros(unsigned blocks) {
    struct bytes zstd = {0};
    bytes_append(&zstd, "\x28\xb5\x2f\xfd\0\x38", 6);
    for (unsigned i = 1; i <= blocks; i++) {
        const uint32_t header = ZSTD_BLOCK_BYTES << 3 | 1 << 1 | (i == blocks);
        const uint8_t block[] = {(uint8_t)header, (uint8_t)(header >> 8), (uint8_t)(header >> 16),
                                 0};
        bytes_append(&zstd, block, sizeof block);
    }
    return zstd;
}

/* Returns a zstd frame of as many blocks as bytes. */
static struct bytes make_zstd_blocks(const struct bytes *bytes) {
    struct bytes zstd = {0};
    bytes_append(&zstd, "\x28\xb5\x2f\xfd\0\x38", 6);
    for (size_t i = 0; i < bytes->size; i++) {
        const uint8_t block[] = {1 << 3 | (i == bytes->size - 1), 0, 0, bytes->data[i]};
        bytes_append(&zstd, block, sizeof block);
    }
    return zstd;
}

/* Returns an LZ4 frame of as many blocks as bytes. Its descriptor has no field but the last. */
static struct bytes make_lz4_blocks(const struct bytes *bytes) {
    struct bytes lz4 = {0};
    bytes_append(&lz4, "\x04\x22\x4d\x18\x60\x70\x73", 7);
    for (size_t i = 0; i < bytes->size; i++) {
        const uint8_t block[] = {1, 0, 0, 0x80, bytes->data[i]};
        bytes_append(&lz4, block, sizeof block);
    }
    bytes_append(&lz4, "\0\0\0", 4);
    return lz4;
}

enum { BGZF, ZSTD };

static const struct compression {
    const char *name;
    struct bytes (*make)(const struct bytes *bytes);
    bool has_parts;
    const char *between; /* bytes that may lie between streams */
    size_t between_size;
    bool slow; /* each block has one byte */
} compressions[] = {
    [BGZF] = {"BGZF", make_bgzf, true, "\0\0\0", 3, false},
    [ZSTD] = {"zstd", make_zstd, true, "\x51\x2a\x4d\x18\3\0\0\0abc", 11, false},
    {"lz4", make_lz4, true, "\x5f\x2a\x4d\x18\0\0\0", 8, false},
    {"zstd in tiny blocks, maybe too many", make_zstd_blocks, true, "", 0, true},
    {"lz4 in tiny blocks, which claim too much", make_lz4_blocks, false, "", 0, true},
    {"gzip", make_gzip, false, "\0", 1, false},
    {"xz", make_xz, false, "\0\0\0", 4, false},
};

#define COMPRESSIONS (sizeof compressions / sizeof *compressions)

/* Appends bytes in streams of a size. */
static void append_streams(struct bytes *packed, const struct compression *compression,
                           const struct bytes *bytes, size_t size) {
    for (size_t at = 0; at < bytes->size; at += size) {
        const size_t left = bytes->size - at;
        const struct bytes part = {bytes->data + at, size < left ? size : left};
        struct bytes stream = compression->make(&part);
        bytes_append(packed, stream.data, stream.size);
        bytes_free(&stream);
        if (at / size % 3 == 2)
            bytes_append(packed, compression->between, compression->between_size);
    }
}

static struct bytes make_streams(const struct compression *compression, unsigned copies,
                                 size_t size) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAPNG, copies), packed = {0};
    append_streams(&packed, compression, &bytes, size);
    bytes_free(&bytes);
    return packed;
}

/* Checks whether this build unpacks a format. */
static bool is_unpacked(const struct compression *compression) {
    struct bytes packed = make_streams(compression, 1, STREAM_BYTES_MAX);
    const bool recognised = carry_unpack_recognises(packed.data);
    bytes_free(&packed);
    return recognised;
}

static bool is_any_unpacked(void) {
    for (size_t i = 0; i < COMPRESSIONS; i++)
        if (is_unpacked(&compressions[i]))
            return true;
    return false;
}

/* Skips a format that this build does not unpack. */
static bool is_tested(const struct compression *compression) {
    const bool tested = is_unpacked(compression);
    if (!tested)
        tap_skip(compression->name, "built without what unpacks it");
    return tested;
}

static void test_compressed(const struct compression *compression) {
    static const size_t sizes[] = {100, 3000, STREAM_BYTES_MAX};
    const unsigned copies = compression->slow ? COPIES / 4 : COPIES;
    bool ok = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && ok; i++) {
        struct bytes packed = make_streams(compression, copies, sizes[i]);
        ok = is_same_in_pieces(&packed, 1) && is_same_in_pieces(&packed, 2000) &&
             is_same_in_pieces(&packed, 10001);
        bytes_free(&packed);
    }
    tap_ok(ok, "%s in parts", compression->name);
}

/* Damages a few bytes, and truncates some captures. */
static void test_damaged_streams(const struct compression *compression, unsigned rounds) {
    bool ok = true;
    for (unsigned round = 0; round < rounds && ok; round++) {
        struct bytes packed = make_streams(compression, COPIES, 200 + rng_below(3000));
        for (unsigned i = 0; i < 1 + round % 3; i++)
            packed.data[4 + rng_below(packed.size - 4)] = (uint8_t)rng_next();
        if (round % 4 == 3)
            packed.size = 4 + rng_below(packed.size - 4);
        ok = is_same_in_pieces(&packed, piece_sizes[rng_below(PIECE_SIZES)]);
        bytes_free(&packed);
    }
    tap_ok(ok, "damaged %s in parts", compression->name);
}

/* The rest of a capture. */
struct rest {
    unsigned packets, apart; /* apart: nothing was held of the compressed file */
    uint64_t digest;
    int result;
};

/* Reads at most `most` packets. */
static void read_rest(struct carry_capture *capture, unsigned most, struct rest *rest) {
    const struct carry_capture_packet *packet;
    rest->result = CARRY_CAPTURE_PACKET;
    for (unsigned i = 0; i < most && rest->result == CARRY_CAPTURE_PACKET; i++) {
        rest->result = carry_capture_next(capture, &packet);
        if (rest->result != CARRY_CAPTURE_PACKET)
            return;
        rest->packets++;
        rest->apart += !carry_input_held(&capture->packed);
        rest->digest = add_digest(rest->digest, packet->offset);
        for (uint32_t at = 0; at < packet->captured; at++)
            rest->digest = add_digest(rest->digest, packet->data[at]);
    }
}

/* How a capture is read in parts: up to `most` packets, and then without. */
struct parting {
    size_t piece;
    unsigned threads, most;
    bool spoils; /* all bytes change before parts end */
};

static void read_divided(struct carry_capture *capture, struct threads *threads,
                         const struct bytes *packed, const struct parting *parting,
                         struct rest *rest) {
    read_rest(capture, 1, rest);
    if (rest->result == CARRY_CAPTURE_PACKET && TAP_TRUE(carry_parts_can_begin(capture))) {
        capture->piece_bytes = parting->piece;
        struct parts *parts = carry_parts_open(capture, threads, parting->threads);
        read_rest(capture, parting->most, rest);
        if (parting->spoils)
            memset(packed->data, 0xff, packed->size);
        carry_parts_close(parts);
    }
    read_rest(capture, UINT32_MAX, rest);
}

/* Reads a capture in parts. No thread helps. */
static struct rest read_parting(const struct bytes *packed, const struct parting *parting) {
    struct rest rest = {.result = CARRY_ERROR_MEMORY};
    struct carry_capture *capture = NULL;
    struct threads *threads = carry_threads_create();
    if (threads && !carry_capture_open_memory(packed->data, packed->size, &capture, NULL)) {
        capture->piece_bytes = 2000;
        read_divided(capture, threads, packed, parting, &rest);
    }
    carry_capture_close(capture);
    carry_threads_free(threads);
    return rest;
}

static struct rest read_in_parts(const struct bytes *packed, size_t piece, unsigned most) {
    return read_parting(packed, &(struct parting){piece, 2, most, false});
}

/* Small captures are held as a whole, unless they are read in parts. */
static void test_parts_are_used(const struct compression *compression) {
    struct bytes packed = make_streams(compression, COPIES, 500);
    const struct rest without = read_in_parts(&packed, 2000, 0);
    const struct rest with = read_in_parts(&packed, 2000, UINT32_MAX);
    const unsigned least = compression->has_parts ? with.packets - 20 : without.apart;
    tap_ok(TAP_EQ(with.packets, CAPTURE_PACKETS * COPIES) && TAP_EQ(with.digest, without.digest) &&
               TAP_LE(without.apart, with.packets / 10) && TAP_GE(with.apart, least) &&
               TAP_TRUE(compression->has_parts || with.apart == without.apart),
           "%s %s parts", compression->name, compression->has_parts ? "has" : "has no");
    bytes_free(&packed);
}

/* A part that is larger than a window is passed on in several reads. */
static void test_end_of_parts(const struct compression *compression) {
    struct bytes packed = make_streams(compression, 20 * COPIES, STREAM_BYTES_MAX);
    const struct rest all = read_in_parts(&packed, (size_t)300 << 10, 0);
    bool ok = TAP_EQ(all.packets, CAPTURE_PACKETS * 20 * COPIES);
    for (unsigned most = 1; most < all.packets && ok; most += 331) {
        const struct rest rest = read_in_parts(&packed, (size_t)300 << 10, most);
        ok = TAP_EQ(rest.packets, all.packets) && TAP_EQ(rest.digest, all.digest) &&
             TAP_EQ(rest.result, all.result);
    }
    tap_ok(ok, "reading %s in parts can end anywhere", compression->name);
    bytes_free(&packed);
}

/* A block of 18 MiB unpacks from one stream, which is too large for a part. */
static void test_large_stream(void) {
    const unsigned blocks = 144;
    const size_t zeros = (size_t)blocks * ZSTD_BLOCK_BYTES;
    struct bytes skipped = make_skipped((uint32_t)zeros + 4096), packed = {0};
    struct bytes section = make_long_capture(COPIES), stream = make_zstd_zeros(blocks);
    const struct compression zstd = {.make = make_zstd, .between = ""};
    append_streams(&packed, &zstd, &section, 3000);
    append_streams(&packed, &zstd, &(struct bytes){skipped.data, skipped.size - 4 - zeros}, 3000);
    bytes_append(&packed, stream.data, stream.size);
    append_streams(&packed, &zstd, &(struct bytes){skipped.data + skipped.size - 4, 4}, 4);
    append_streams(&packed, &zstd, &section, 3000);
    const struct how how = {READ, PIECE_BYTES, 1, false, true};
    const bool ok =
        TAP_EQ(check_bytes(&packed, &how).totals.packets, (uint64_t)2 * CAPTURE_PACKETS * COPIES) &&
        is_same_in_pieces(&packed, 4096);
    tap_ok(ok, "a stream that is too large for a part");
    bytes_free(&skipped);
    bytes_free(&section);
    bytes_free(&stream);
    bytes_free(&packed);
}

/* The sizes that blocks of BGZF state are wrong. */
static void test_false_sizes(void) {
    bool ok = true;
    for (size_t at = 0; at < 2000 && ok; at += 100) {
        struct bytes packed = make_streams(&compressions[BGZF], COPIES, 500);
        for (size_t i = at; i + 18 < packed.size; i++)
            if (memcmp(packed.data + i, "BC\2", 4) == 0)
                packed.data[i + 4] = (uint8_t)(packed.data[i + 4] + at / 100 + 1);
        ok = is_same_in_pieces(&packed, 2000);
        bytes_free(&packed);
    }
    tap_ok(ok, "blocks of BGZF that state wrong sizes");
}

/* A frame that is skipped says that it is larger than a part, and ends early. */
static void test_large_frame(void) {
    struct bytes packed = make_streams(&compressions[ZSTD], COPIES, 500);
    bytes_append(&packed, "\x50\x2a\x4d\x18\0\0\0\2abc", 11);
    tap_ok(is_same_in_pieces(&packed, 2000), "a skipped frame that is too large for a part");
    bytes_free(&packed);
}

/* Blocks of BGZF with nothing between them. */
static const struct compression bgzf = {.make = make_bgzf, .between = ""};

/* Blocks of a few bytes may unpack to 64 KiB each: more threads than parts, and larger parts than
   their memory. */
static void test_many_parts(void) {
    struct bytes packed = make_streams(&bgzf, COPIES, 20);
    const struct parting parting = {(size_t)15 << 20, 100, UINT32_MAX, false};
    const struct rest with = read_parting(&packed, &parting);
    const struct rest without = read_in_parts(&packed, 2000, 0);
    tap_ok(TAP_EQ(with.packets, CAPTURE_PACKETS * COPIES) && TAP_EQ(with.digest, without.digest) &&
               TAP_EQ(with.result, without.result),
           "more threads and memory than parts may have");
    bytes_free(&packed);
}

/* The rest of a part is read again, from a file that has changed. */
static void test_spoilt_part(void) {
    struct bytes packed = make_streams(&bgzf, 20 * COPIES, STREAM_BYTES_MAX);
    const struct parting parting = {(size_t)300 << 10, 2, 1500, true};
    const struct rest rest = read_parting(&packed, &parting);
    tap_ok(TAP_EQ(rest.result, CARRY_ERROR_DAMAGED) &&
               TAP_LT(rest.packets, CAPTURE_PACKETS * 20 * COPIES),
           "a part that changes while it is passed on");
    bytes_free(&packed);
}

/* --- Streams --- */

/* Returns the size of streams that are unpacked in some room. */
static size_t unpack_in(const struct bytes *packed, size_t room) {
    struct input input = {0};
    uint8_t *unpacked = malloc(room);
    struct unpack *unpack = carry_unpack_open(packed->data, &input);
    struct unpack *same = unpack ? carry_unpack_open_same(unpack) : NULL;
    if (!unpacked || !same)
        abort();
    const size_t size = carry_unpack_streams(same, packed->data, packed->size, unpacked, room);
    carry_unpack_close(same);
    carry_unpack_close(unpack);
    free(unpacked);
    return size;
}

/* The end of streams shows only where there is room for one more byte. */
static void test_room(const struct compression *compression) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAPNG, 1), packed = {0};
    append_streams(&packed, compression, &bytes, 500);
    tap_ok(TAP_EQ(unpack_in(&packed, bytes.size + 1), bytes.size) &&
               TAP_EQ(unpack_in(&packed, bytes.size), SIZE_MAX) &&
               TAP_EQ(unpack_in(&packed, 1), SIZE_MAX),
           "room for %s", compression->name);
    bytes_free(&bytes);
    bytes_free(&packed);
}

/* --- Without memory --- */

static int read_scarce(void *context) {
    const struct rest rest = read_in_parts(context, 2000, UINT32_MAX);
    if (rest.result == CARRY_CAPTURE_END)
        return rest.packets == CAPTURE_PACKETS * COPIES ? CARRY_OK : 1;
    return rest.result;
}

static void test_allocations(const struct compression *compression) {
    struct bytes packed = make_streams(compression, COPIES, 500);
    tap_ok(allocations_all_fail(read_scarce, &packed),
           "if any allocation for %s fails, the result is an error or the same, no memory is lost",
           compression->name);
    bytes_free(&packed);
}

/* --- Headers --- */

/* A header and the next one, with the distances that their format defines. */
struct hop_case {
    uint8_t header[UNPACK_HEADER_BYTES];
    uint64_t distance;
    uint8_t next[UNPACK_HEADER_BYTES];
    uint64_t next_distance;
    uint64_t unpacked;
};

/* The fields of a frame that its descriptor announces, and blocks of each type. */
static const struct hop_case zstd_hops[] = {
    {"\x50\x2a\x4d\x18\x05", 13, "\x5f\x2a\x4d\x18\0\0\0\x80", 0x80000008, 0},
    {"\x28\xb5\x2f\xfd\x00", 6, "\x28", 8, 5},
    {"\x28\xb5\x2f\xfd\x20", 6, "\x29", 8, 5},
    {"\x28\xb5\x2f\xfd\x64", 7, "\x29", 12, 5},
    {"\x28\xb5\x2f\xfd\xa1", 10, "\x02\0\x01", 4, 8192},
    {"\x28\xb5\x2f\xfd\xc2", 16, "\x2c", 8, ZSTD_BLOCK_BYTES},
    {"\x28\xb5\x2f\xfd\xe3", 17, "\x2e", 0, 0},
    {"\x28\xb5\x2f\xfc", 0, "", 0, 0},
};
static const struct hop_case lz4_hops[] = {
    {"\x04\x22\x4d\x18\x60\x40", 7, "\5", 9, 64 << 10},
    {"\x04\x22\x4d\x18\x71\x50", 11, "\5\0\0\x80", 13, 256 << 10},
    {"\x04\x22\x4d\x18\x78\x70", 15, "", 4, 0},
    {"\x04\x22\x4d\x18\x64\x70", 7, "", 8, 0},
};

/* Only BGZF, whose flags and extra field are these. */
static const struct hop_case gzip_hops[] = {
    {"\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2\0\xff\xff", 65536, "", 0, 64 << 10},
    {"\x1f\x8b\x08\5\0\0\0\0\0\xff\6\0BC\2\0\xff\xff", 0, "", 0, 0},
    {"\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BD\2\0\xff\xff", 0, "", 0, 0},
};

/* Checks cases of a format, of which the first begins a stream. */
static void test_hops(const char *name, const struct hop_case *cases, size_t count) {
    struct input packed = {0};
    bool ok = true;
    if (!carry_unpack_recognises(cases->header)) {
        tap_skip(name, "built without what unpacks it");
        return;
    }
    struct unpack *unpack = carry_unpack_open(cases->header, &packed);
    for (size_t i = 0; i < count && ok; i++) {
        struct unpack_hop hop = {0};
        ok = TAP_EQ(carry_unpack_hop(unpack, &hop, cases[i].header), cases[i].distance) &&
             TAP_EQ(carry_unpack_hop(unpack, &hop, cases[i].next), cases[i].next_distance) &&
             TAP_EQ(hop.unpacked, cases[i].unpacked);
    }
    carry_unpack_close(unpack);
    tap_ok(ok, "headers of %s say where the next ones are", name);
}

static void test_compression(const struct compression *compression, unsigned rounds) {
    test_compressed(compression);
    test_damaged_streams(compression, compression->slow ? rounds / 5 : rounds);
    test_parts_are_used(compression);
    if (!compression->slow)
        test_end_of_parts(compression);
    test_room(compression);
    test_allocations(compression);
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    if (!is_any_unpacked())
        return tap_skip_all("built without what unpacks captures");
    const char *level = getenv("CARRY_TEST_LEVEL");
    const unsigned rounds = level && strcmp(level, "short") == 0 ? 16 : 50;
    rng_restart();
    for (size_t i = 0; i < COMPRESSIONS; i++)
        if (is_tested(&compressions[i]))
            test_compression(&compressions[i], rounds);
    test_hops("zstd", zstd_hops, sizeof zstd_hops / sizeof *zstd_hops);
    test_hops("lz4", lz4_hops, sizeof lz4_hops / sizeof *lz4_hops);
    test_hops("gzip", gzip_hops, sizeof gzip_hops / sizeof *gzip_hops);
    if (is_tested(&compressions[BGZF])) {
        test_false_sizes();
        test_many_parts();
        test_spoilt_part();
    }
    if (is_tested(&compressions[ZSTD])) {
        test_large_stream();
        test_large_frame();
    }
    return tap_done();
}
