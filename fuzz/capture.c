/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the capture reader, and the walk over every packet that it returns.
 *
 * The input is a capture file. It is read in small pieces through a small window, so that records
 * straddle both, and in one piece: the results must be equal. A compressed file is also read in
 * parts, with the same result. One that is not compressed is also read truncated: this result must
 * differ only at its end. Each packet is copied to a buffer of its size, so that AddressSanitizer
 * detects the first byte read beyond it.
 */
#include <string.h>

#include "format.h"
#include "fuzz.h"
#include "stream_parts.h"

#define SMALL_WINDOW 64

struct feed {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t piece;  /* the most bytes that one read returns */
    size_t passed; /* bytes passed to the sink */
};

static int64_t read_piece(void *context, void *buffer, size_t size) {
    struct feed *memory = context;
    size_t rest = memory->size - memory->at;
    size = size < rest ? size : rest;
    size = size < memory->piece ? size : memory->piece;
    if (size)
        memcpy(buffer, memory->data + memory->at, size);
    memory->at += size;
    return (int64_t)size;
}

/* Requires that the bytes passed to the sink are the next bytes of the file. */
static bool check_passed(void *context, const void *bytes, size_t size) {
    struct feed *memory = context;
    REQUIRE(size <= memory->size - memory->passed);
    REQUIRE(!size || memcmp(bytes, memory->data + memory->passed, size) == 0);
    memory->passed += size;
    return true;
}

static void walk_copy(const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    void *copy = malloc(packet->captured ? packet->captured : 1);
    REQUIRE(copy);
    memcpy(copy, packet->data, packet->captured);
    struct carry_frame frame = {
        .data = copy,
        .captured = packet->captured,
        .wire = packet->wire,
        .linktype = packet->linktype,
    };
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    REQUIRE(count <= CARRY_PACKET_SUMS_MAX);
    free(copy);
}

/* The result of reading a file. */
struct reading {
    int result;
    struct carry_capture_error error;
    bool in_order; /* packets must have rising offsets */
    uint64_t packets;
    uint64_t end;    /* offset in the file of the end of the last packet's bytes */
    uint64_t digest; /* digest of members of all packets: see take_reading() */
};

static uint64_t add_digest(uint64_t digest, uint64_t value) {
    return (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void take_reading(struct reading *reading, const struct carry_capture_packet *packet) {
    const uint64_t said[] = {packet->captured,  packet->wire,   packet->linktype, packet->fcs,
                             packet->interface, packet->number, packet->time_ns,  packet->offset};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        reading->digest = add_digest(reading->digest, said[i]);
    REQUIRE(packet->number == ++reading->packets);
    REQUIRE(packet->captured <= CARRY_CAPTURE_PACKET_MAX);
    REQUIRE(packet->offset >= reading->end || !reading->in_order);
    reading->end = packet->offset + packet->captured;
}

static void check_end(const struct feed *memory, struct carry_capture *capture,
                      struct reading *reading) {
    struct carry_capture_packet packet;
    REQUIRE(reading->result == CARRY_CAPTURE_END || reading->result == CARRY_ERROR_DAMAGED ||
            reading->result == CARRY_ERROR_UNRECOGNISED);
    REQUIRE(carry_reader_next(capture, &packet) == reading->result);
    reading->error = *carry_capture_last_error(capture);
    REQUIRE(reading->error.code == reading->result && reading->error.system == 0);
    REQUIRE((reading->result == CARRY_CAPTURE_END) == (*reading->error.text == '\0'));
    REQUIRE(strlen(reading->error.text) < sizeof reading->error.text - 1);
    REQUIRE(strchr(reading->error.text, '\n') == NULL);
    REQUIRE(carry_capture_position(capture) <= memory->at);
}

/* Checks whether the input begins with a compressed stream: packets are then not at their offsets
   in it. */
static bool is_packed(const uint8_t *data, size_t size) {
    return size >= 4 && carry_unpack_recognises(data);
}

/* Checks whether the input may be a capture of Network Monitor, which has a table of packets. */
static bool is_netmon(const uint8_t *data, size_t size) {
    return size >= 4 &&
           (is_packed(data, size) || memcmp(data, "GMBU", 4) == 0 || memcmp(data, "RTSS", 4) == 0);
}

/* Reads in pieces, and passes all bytes to a sink. Requires that no packet ends beyond the file. */
static struct reading read_through(const uint8_t *data, size_t size, size_t window, size_t piece) {
    struct feed memory = {.data = data, .size = size, .piece = piece};
    const struct carry_capture_source source = {.read = read_piece, .user = &memory};
    struct carry_capture *capture = carry_reader_create(&source, window);
    const bool packed = is_packed(data, size);
    struct reading reading = {.in_order = !is_netmon(data, size)};
    struct carry_capture_packet packet;
    REQUIRE(capture);
    if (!packed)
        carry_reader_pass_to(capture, check_passed, &memory);
    while ((reading.result = carry_reader_next(capture, &packet)) == CARRY_CAPTURE_PACKET) {
        take_reading(&reading, &packet);
        REQUIRE(packed || reading.end <= size);
        REQUIRE(packed || memcmp(packet.data, data + packet.offset, packet.captured) == 0);
        walk_copy(&packet);
    }
    check_end(&memory, capture, &reading);
    REQUIRE(packed || reading.error.offset <= size);
    REQUIRE(packed || (carry_reader_pass_rest(capture) && memory.passed == size));
    carry_capture_close(capture);
    return reading;
}

/* Reads a compressed file in parts, from the second packet on. No thread helps. */
static struct reading read_in_parts(const uint8_t *data, size_t size) {
    const struct feed all = {.at = size};
    struct reading reading = {.in_order = false};
    struct carry_capture_packet packet;
    struct carry_capture *capture = NULL;
    struct parts *parts = NULL;
    struct threads *threads = carry_threads_create();
    REQUIRE(threads && carry_capture_open_memory(data, size, &capture, NULL) == CARRY_OK);
    capture->piece_bytes = size % 251 + 1;
    while ((reading.result = carry_reader_next(capture, &packet)) == CARRY_CAPTURE_PACKET) {
        take_reading(&reading, &packet);
        if (reading.packets == 1 && carry_parts_can_begin(capture))
            parts = carry_parts_open(capture, threads, 2);
    }
    check_end(&all, capture, &reading);
    carry_parts_close(parts);
    carry_capture_close(capture);
    carry_threads_free(threads);
    return reading;
}

/*
 * Requires equal results, whatever the pieces and windows. Two results may depend on the pieces if
 * a stream is corrupt: the messages of compression libraries, and for xz the output of the last
 * chunk.
 */
static void check_same(const struct reading *a, const struct reading *b, bool packed, bool xz) {
    REQUIRE((a->result == CARRY_CAPTURE_END) == (b->result == CARRY_CAPTURE_END));
    if (xz && a->result != CARRY_CAPTURE_END)
        return;
    REQUIRE(a->result == b->result && a->packets == b->packets && a->digest == b->digest);
    REQUIRE(a->error.offset == b->error.offset);
    REQUIRE(packed || strcmp(a->error.text, b->error.text) == 0);
}

/* Checks whether a small window held no capture, and the usual one the damage behind its bytes. */
static bool is_seen_later(const struct reading *small, const struct reading *usual) {
    return small->result == CARRY_ERROR_UNRECOGNISED && usual->result == CARRY_ERROR_DAMAGED;
}

/*
 * Requires that a truncated file has the packets before its end, and ends cleanly or with an error
 * within the file. If the format has no magic number, later bytes of the whole file may show that
 * it is not a capture at all.
 */
static void check_truncated(const struct reading *whole, const struct reading *cut, size_t size) {
    if (whole->result == CARRY_ERROR_UNRECOGNISED)
        return;
    REQUIRE(cut->packets <= whole->packets);
    REQUIRE(cut->packets < whole->packets || cut->digest == whole->digest);
    REQUIRE(cut->packets == whole->packets || whole->end > size || cut->end <= size);
    REQUIRE(cut->result == CARRY_CAPTURE_END || cut->error.offset <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct reading reading = read_through(data, size, SMALL_WINDOW, size % 251 + 1);
    bool packed = is_packed(data, size);
    const size_t window = packed ? WINDOW_BYTES : size + 1;
    const struct reading again = read_through(data, size, window, size + 1);
    if (!packed || !is_seen_later(&reading, &again))
        check_same(&reading, &again, packed, packed && data[0] == 0xfd);
    if (packed) {
        const struct reading parts = read_in_parts(data, size);
        check_same(&again, &parts, packed, data[0] == 0xfd);
    }
    if (packed || !size)
        return 0;
    size_t shorter = (size_t)(reading.digest % size);
    const struct reading cut = read_through(data, shorter, size + 1, size + 1);
    check_truncated(&reading, &cut, shorter);
    return 0;
}
