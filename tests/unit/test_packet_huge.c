/* SPDX-License-Identifier: MIT */
/*
 * Tests frames of nearly 4 GiB: a 32-bit offset could wrap around, but the walk over chains of
 * small parts must end, and must not read outside the frame. The frame repeats a few bytes of
 * memory.
 */
#include <carry/packet.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/tap.h"

#define SPAN  (16u << 20)
#define SPANS 256u /* 4 GiB, a byte more than a frame can have */
#define FRAME UINT32_MAX

enum { LINKTYPE_RAW = 101, ICMP = 1, UDP = 17, SCTP_PORT = 9899, FIRST_OBJECT = 20 + 8 + 128 };

/* Writes a size of 32,768 at each even offset, with a known type: 131,072 parts cover 4 GiB. */
static void fill_with_parts(uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = i & 1 ? 0 : 0x80;
}

/* Maps the frame; its first span is not shared. Returns NULL if there is no room. */
static uint8_t *map_frame(void) {
    int file = memfd_create("frame", 0);
    uint8_t *frame = mmap(NULL, (size_t)SPAN * SPANS, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || ftruncate(file, SPAN) || frame == MAP_FAILED)
        return NULL;
    for (size_t i = 0; i < SPANS; i++)
        if (mmap(frame + i * SPAN, SPAN, PROT_READ | PROT_WRITE,
                 MAP_FIXED | (i ? MAP_SHARED : MAP_PRIVATE), file, 0) == MAP_FAILED)
            return NULL;
    fill_with_parts(frame + SPAN, SPAN);
    return frame;
}

/*
 * Writes an IPv4 header without a length, as for a network card: the datagram has the frame's
 * length.
 */
static void put_ip(uint8_t *frame, uint8_t protocol) {
    static const uint8_t header[20] = {0x45};
    memcpy(frame, header, sizeof header);
    frame[9] = protocol;
}

static size_t walk_frame(const uint8_t *data) {
    struct carry_frame frame = {.data = data, .captured = FRAME, .wire = FRAME};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    frame.linktype = LINKTYPE_RAW;
    return carry_packet_walk(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
}

/* Tests an ICMP error that quotes 128 bytes, followed by objects. */
static void test_objects(uint8_t *frame) {
    static const uint8_t unreachable[8] = {3};
    put_ip(frame, ICMP);
    memcpy(frame + 20, unreachable, sizeof unreachable);
    frame[FIRST_OBJECT] = 0x20; /* version 2 of extensions (RFC 4884) */
    tap_ok(TAP_GE(walk_frame(frame), 2), "a walk over objects of ICMP ends");
}

static void test_chunks(uint8_t *frame) {
    static const uint8_t udp[8] = {0, 0, SCTP_PORT >> 8, SCTP_PORT & 0xff};
    put_ip(frame, UDP);
    memcpy(frame + 20, udp, sizeof udp);
    tap_ok(TAP_EQ(walk_frame(frame), 2), "a walk over chunks of SCTP in UDP ends");
}

int main(void) {
    uint8_t *frame = sizeof(size_t) > 4 ? map_frame() : NULL;
    if (!frame)
        return tap_skip_all("no room for a frame of 4 GiB");
    fill_with_parts(frame, SPAN);
    test_objects(frame);
    fill_with_parts(frame, SPAN);
    test_chunks(frame);
    return tap_done();
}
