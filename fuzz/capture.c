/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the capture reader, and the walk on every packet it hands out.
 *
 * The input is a capture file. It comes in small pieces through a small window, so that records
 * straddle both; each packet is copied to a buffer of its size, so that AddressSanitizer sees the
 * first byte read beyond it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/packet.h>

#include "capture.h"
#include "fuzz.h"

#define WINDOW_BYTES 64

struct memory {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t piece; /* most bytes that one read returns */
};

static ssize_t read_memory(void *context, void *buffer, size_t size) {
    struct memory *memory = context;
    size_t rest = memory->size - memory->at;
    size = size < rest ? size : rest;
    size = size < memory->piece ? size : memory->piece;
    if (size)
        memcpy(buffer, memory->data + memory->at, size);
    memory->at += size;
    return (ssize_t)size;
}

static void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

static void walk(const struct packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    void *copy = malloc(packet->captured ? packet->captured : 1);
    require(copy != NULL, "out of memory");
    memcpy(copy, packet->data, packet->captured);
    struct carry_frame frame = {
        .data = copy,
        .captured = packet->captured,
        .wire = packet->wire,
        .linktype = packet->linktype,
    };
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    require(count <= CARRY_PACKET_SUMS_MAX, "more sums than there is room for");
    free(copy);
}

/* The start of a gzip or zstd stream: packets are not found at their offsets in the input then. */
static bool may_be_packed(const uint8_t *data, size_t size) {
    return size >= 4 &&
           (memcmp(data, "\x1f\x8b", 2) == 0 || memcmp(data + 1, "\xb5\x2f\xfd", 3) == 0 ||
            memcmp(data + 1, "\x2a\x4d\x18", 3) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct memory memory = {.data = data, .size = size, .piece = size % 251 + 1};
    struct capture *capture = capture_open_source(read_memory, &memory, WINDOW_BYTES);
    const bool packed = may_be_packed(data, size);
    struct packet packet;
    enum capture_result result;
    require(capture != NULL, "out of memory");
    while ((result = capture_next(capture, &packet)) == CAPTURE_PACKET) {
        if (!packed) {
            require(packet.offset + packet.captured <= size, "a packet beyond the file's end");
            require(memcmp(packet.data, data + packet.offset, packet.captured) == 0,
                    "a packet that is not what the file holds at its offset");
        }
        walk(&packet);
    }
    require(result == CAPTURE_END || result == CAPTURE_DAMAGED, "a failure without a cause");
    if (result == CAPTURE_DAMAGED)
        require((packed || capture_problem(capture)->offset <= size) &&
                    *capture_problem(capture)->reason,
                "damage without a place or a reason");
    require(capture_next(capture, &packet) == result, "a result that was not final");
    capture_close(capture);
    return 0;
}
