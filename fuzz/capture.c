/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the capture reader, and the walk over every packet that it returns.
 *
 * The input is a capture file. It is read in small pieces through a small window, so that records
 * straddle both, then in other pieces, and truncated: only the truncation may make a difference, at
 * the end. Each packet is copied to a buffer of its size, so that AddressSanitizer detects the
 * first byte read beyond it.
 */
#include <string.h>

#include "format.h"
#include "fuzz.h"

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

/* Requires that the bytes passed to the sink are the next ones of the file. */
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
    uint64_t packets;
    uint64_t end;    /* of the last packet's bytes in the file */
    uint64_t digest; /* of all members of the packets */
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
    REQUIRE(packet->offset >= reading->end);
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

/* Reads in pieces, and passes all bytes to a sink; no packet may end beyond the file. */
static struct reading read_through(const uint8_t *data, size_t size, size_t window, size_t piece) {
    struct feed memory = {.data = data, .size = size, .piece = piece};
    const struct carry_capture_source source = {.read = read_piece, .user = &memory};
    struct carry_capture *capture = carry_reader_create(&source, window);
    const bool packed = is_packed(data, size);
    struct reading reading = {0};
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

/*
 * Requires equal results, whatever the pieces and windows. Only the libraries' messages about
 * corrupt streams depend on whether they got the stream at once; and for a corrupt xz stream, so
 * does the output of the last chunk.
 */
static void check_same(const struct reading *a, const struct reading *b, bool packed, bool xz) {
    REQUIRE((a->result == CARRY_CAPTURE_END) == (b->result == CARRY_CAPTURE_END));
    if (xz && a->result != CARRY_CAPTURE_END)
        return;
    REQUIRE(a->result == b->result && a->packets == b->packets && a->digest == b->digest);
    REQUIRE(a->error.offset == b->error.offset);
    REQUIRE(packed || strcmp(a->error.text, b->error.text) == 0);
}

/*
 * Requires that a truncated file has the packets before its end, and ends cleanly or reports what
 * is cut. If the format has no magic number, later bytes may show that the file is not a capture at
 * all.
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
    const struct reading again = read_through(data, size, size + 1, size + 1);
    bool packed = is_packed(data, size);
    check_same(&reading, &again, packed, packed && data[0] == 0xfd);
    if (packed || !size)
        return 0;
    size_t shorter = (size_t)(reading.digest % size);
    const struct reading cut = read_through(data, shorter, size + 1, size + 1);
    check_truncated(&reading, &cut, shorter);
    return 0;
}
