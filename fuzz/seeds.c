/* SPDX-License-Identifier: MIT */
/*
 * Writes the frames of captures as inputs of frame.h: one for each shape, which is the link type,
 * the sequence of headers, and the verdicts and reasons of the sums. Further frames of a shape
 * would not help a fuzzer.
 *
 *     make_seeds FOLDER CAPTURE...
 */
#include <errno.h>
#include <sys/stat.h>

#include <carry/capture.h>

#include "frame.h"

#define SEED_BYTES_MAX 2048

/* Adds a value to an FNV-1a digest. */
static uint64_t add_to_shape(uint64_t digest, unsigned value) {
    return (digest ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t shape_of(const struct carry_frame *frame) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t sum_count = carry_packet_check(frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    size_t layer_count = carry_packet_layers(frame, NULL, layers, CARRY_PACKET_SUMS_MAX);
    uint64_t digest = add_to_shape(UINT64_C(0xcbf29ce484222325), frame->linktype);
    for (size_t i = 0; i < layer_count; i++)
        digest = add_to_shape(digest, layers[i].protocol);
    for (size_t i = 0; i < sum_count; i++)
        digest = add_to_shape(digest, sums[i].verdict + 256u * sums[i].reason);
    return digest;
}

static void put_head(uint8_t *head, const struct carry_frame *frame) {
    uint32_t beyond = frame->wire > frame->captured ? frame->wire - frame->captured : 0;
    memset(head, 0, HEAD_BYTES);
    for (unsigned i = 0; i < 2; i++)
        head[HEAD_LINKTYPE + i] = (uint8_t)(frame->linktype >> 8 * i);
    for (unsigned i = 0; i < 4; i++)
        head[HEAD_BEYOND + i] = (uint8_t)(beyond >> 8 * i);
}

/* Writes a frame if it is the first of its shape. Returns false, with errno set, if that fails. */
static bool write_seed(const char *folder, const struct carry_frame *frame) {
    char path[4096];
    uint8_t head[HEAD_BYTES];
    snprintf(path, sizeof path, "%s/%016llx", folder, (unsigned long long)shape_of(frame));
    FILE *file = fopen(path, "rb");
    if (file)
        return fclose(file) == 0;
    file = fopen(path, "wb");
    if (!file)
        return false;
    put_head(head, frame);
    bool written = fwrite(head, sizeof head, 1, file) == 1 &&
                   fwrite(frame->data, 1, frame->captured, file) == frame->captured;
    return fclose(file) == 0 && written;
}

static bool write_seeds(const char *folder, struct carry_capture *capture) {
    const struct carry_capture_packet *packet;
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        const struct carry_frame frame = {
            .data = packet->data,
            .captured = packet->captured < SEED_BYTES_MAX ? packet->captured : SEED_BYTES_MAX,
            .wire = packet->wire > packet->captured ? packet->wire : packet->captured,
            .linktype = packet->linktype,
        };
        if (!write_seed(folder, &frame))
            return false;
    }
    return true;
}

static bool read_capture(const char *folder, const char *path) {
    struct carry_capture *capture;
    struct carry_capture_error error;
    carry_capture_open_path(path, &capture, &error);
    bool done = capture && write_seeds(folder, capture);
    if (!done)
        fprintf(stderr, "%s: %s\n", path, capture ? strerror(errno) : error.text);
    carry_capture_close(capture);
    return done;
}

int main(int argc, char **argv) {
    if (argc < 3 || (mkdir(argv[1], 0777) && errno != EEXIST)) {
        fprintf(stderr, "usage: make_seeds FOLDER CAPTURE...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (!read_capture(argv[1], argv[i]))
            return 1;
    return 0;
}
