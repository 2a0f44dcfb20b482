/* SPDX-License-Identifier: MIT */
#include "bench/capture_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <carry/sum.h>

#include "check/source.h"
#include "common/command.h"
#include "common/text.h"

#define POOL_BYTES ((size_t)8 << 20)

#define PCAP_MAGIC      0xa1b2c3d4u
#define PCAP_SNAPLEN    262144u
#define LINKTYPE_ETHER  1u
#define FRAME_BYTES_MAX 1514

/* Packet records in the format of a pcap file. */
struct pool {
    uint8_t bytes[POOL_BYTES];
    size_t used;
    uint32_t linktype;
};

static bool add_record(struct pool *pool, const void *frame, uint32_t captured, uint32_t wire) {
    const uint32_t header[4] = {0, 0, captured, wire};
    if (sizeof header + captured > POOL_BYTES - pool->used)
        return false;
    memcpy(pool->bytes + pool->used, header, sizeof header);
    memcpy(pool->bytes + pool->used + sizeof header, frame, captured);
    pool->used += sizeof header + captured;
    return true;
}

/* --- Packets from a capture --- */

static bool read_pool(struct pool *pool, const char *source) {
    struct carry_capture *capture = source_open(source);
    const struct carry_capture_packet *packet;
    if (!capture) {
        command_error("%s: %s", source, strerror(errno));
        return false;
    }
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        if (pool->used == 0)
            pool->linktype = packet->linktype;
        if (packet->linktype == pool->linktype &&
            !add_record(pool, packet->data, packet->captured, packet->wire))
            break;
    }
    carry_capture_close(capture);
    if (pool->used == 0)
        command_error("%s: it holds no packets to repeat", source);
    return pool->used != 0;
}

/* --- Made-up packets --- */

/* Returns the next number of xorshift (Marsaglia, 2003): each run makes the same packets. */
static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void put16(uint8_t *at, size_t value) {
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_sum(uint8_t *at, uint16_t sum) {
    memcpy(at, &sum, sizeof sum);
}

/* Fills in the IPv4 header; returns the partial sum of the pseudo-header. */
static uint32_t make_ip4(uint8_t *ip, size_t payload, uint8_t protocol) {
    ip[0] = 0x45;
    put16(ip + 2, 20 + payload);
    ip[8] = 64;
    ip[9] = protocol;
    ip[12] = ip[16] = 10;
    put_sum(ip + 10, 0);
    put_sum(ip + 10, carry_sum_finish(carry_sum(ip, 20, 0)));
    return carry_sum_pseudo4(ip + 12, ip + 16, protocol, (uint16_t)payload, 0);
}

static uint32_t make_ip6(uint8_t *ip, size_t payload, uint8_t protocol) {
    ip[0] = 0x60;
    put16(ip + 4, payload);
    ip[6] = protocol;
    ip[7] = 64;
    ip[8] = ip[24] = 0xfd;
    return carry_sum_pseudo6(ip + 8, ip + 24, protocol, (uint32_t)payload, 0);
}

static void make_random_frame(uint8_t *frame, size_t size, uint32_t *random) {
    enum { TCP = 6, UDP = 17 };
    for (size_t i = 0; i < size; i++)
        frame[i] = (uint8_t)(next_random(random) >> 8);
    const bool six = size > 100 && next_random(random) % 2 == 0;
    const uint8_t protocol = next_random(random) % 3 ? TCP : UDP;
    uint8_t *ip = frame + 14, *segment = ip + (six ? 40 : 20);
    const size_t payload = size - (size_t)(segment - frame);
    put16(frame + 12, six ? 0x86dd : 0x0800);
    put16(ip + 6, 0);
    uint32_t sum = (six ? make_ip6 : make_ip4)(ip, payload, protocol);
    uint8_t *field = segment + (protocol == TCP ? 16 : 6);
    if (protocol == TCP)
        segment[12] = 0x50;
    else
        put16(segment + 4, payload);
    put_sum(field, 0);
    put_sum(field, carry_sum_finish_nonzero(carry_sum(segment, payload, sum)));
}

static void make_packets(struct pool *pool) {
    static const uint16_t sizes[12] = {60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 590, 60};
    uint8_t frame[FRAME_BYTES_MAX];
    uint32_t random = 1;
    pool->linktype = LINKTYPE_ETHER;
    for (size_t i = 0;; i++) {
        uint16_t size = sizes[i % 12];
        make_random_frame(frame, size, &random);
        if (!add_record(pool, frame, size, size))
            return;
    }
}

/* --- The file --- */

static bool write_capture(FILE *out, const struct pool *pool, uint64_t size) {
    const uint16_t version[2] = {2, 4};
    uint32_t header[6] = {PCAP_MAGIC, 0, 0, 0, PCAP_SNAPLEN, pool->linktype};
    memcpy(&header[1], version, sizeof version);
    uint64_t written = sizeof header;
    bool fine = fwrite(header, sizeof header, 1, out) == 1;
    for (; fine && written < size; written += pool->used)
        fine = fwrite(pool->bytes, pool->used, 1, out) == 1;
    if (!fine || fflush(out))
        command_error("cannot write the capture: %s", strerror(errno));
    return fine && !ferror(out);
}

bool bench_capture_make(FILE *out, const char *source, uint64_t size) {
    struct pool *pool = malloc(sizeof *pool);
    if (!pool) {
        command_error("%s", strerror(ENOMEM));
        return false;
    }
    pool->used = 0;
    bool made = true;
    if (source)
        made = read_pool(pool, source);
    else
        make_packets(pool);
    made = made && write_capture(out, pool, size);
    free(pool);
    return made;
}
