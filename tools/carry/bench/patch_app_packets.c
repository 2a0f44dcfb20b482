/* SPDX-License-Identifier: MIT */
/* A packet loop: operations parse, filter, sum and count each packet of a burst. Two flags, both
 * off, would cause packets to be traced and mirrored. */
#include "bench/patch_app.h"

#include <string.h>

#include <carry/sum.h>

#define BURST       64
#define ADDRESSES   8 /* bytes of the addresses in a header */
#define HEADER      20
#define TTL         8
#define PROTOCOL    9
#define TCP         6
#define UDP         17
#define LINE_BYTES  64
#define PACKET_MAX  1500
#define BURST_BYTES (BURST * (size_t)(PACKET_MAX + LINE_BYTES))

struct packet {
    const uint8_t *data;
    size_t size;
};

/* IMIX: packets of 40, 576 and 1,500 bytes, 7 : 4 : 1. */
static const uint16_t sizes[] = {40, 576, 40, 40, 576, 40, 1500, 40, 576, 40, 576, 40};

_Alignas(LINE_BYTES) static uint8_t burst_bytes[BURST_BYTES];
static struct packet burst[BURST];

static struct { uint64_t packets, bytes; } counted[UDP + 1], traced;

/* --- Operations --- */

CARRY_OP(uint32_t, bench_parse, const uint8_t *, size_t);
CARRY_OP(bool, bench_filter, const uint8_t *, uint32_t);
CARRY_OP(uint32_t, bench_checksum, const uint8_t *, size_t);
CARRY_OP(uint32_t, bench_count, uint32_t, size_t);
CARRY_KEY(bench_tracing);
CARRY_KEY(bench_mirroring);

/* Returns the protocol of an IPv4 packet, or 0 if the header is bad. */
static uint32_t bench_parse_function(const uint8_t *data, size_t size) {
    const size_t total = (size_t)data[2] << 8 | data[3];
    return data[0] == 0x45 && total <= size && data[TTL] ? data[PROTOCOL] : 0;
}

/* Returns whether a packet passes: TCP and UDP do, unless the destination port is 0. */
static bool bench_filter_function(const uint8_t *data, uint32_t protocol) {
    return (protocol == TCP || protocol == UDP) && (data[HEADER + 2] | data[HEADER + 3]);
}

/* Returns the sum of the pseudo-header's addresses and of the payload. */
static uint32_t bench_checksum_function(const uint8_t *data, size_t size) {
    return carry_sum(data + HEADER - ADDRESSES, size - HEADER + ADDRESSES, 0);
}

/* Counts a packet. Returns how many packets of its protocol were counted before, modulo 2^32. */
static uint32_t bench_count_function(uint32_t protocol, size_t size) {
    counted[protocol].bytes += size;
    return (uint32_t)counted[protocol].packets++;
}

CARRY_OP_DEFINE(bench_parse, bench_parse_function);
CARRY_OP_DEFINE(bench_filter, bench_filter_function);
CARRY_OP_DEFINE(bench_checksum, bench_checksum_function);
CARRY_OP_DEFINE(bench_count, bench_count_function);
CARRY_KEY_DEFINE(bench_tracing, false);
CARRY_KEY_DEFINE(bench_mirroring, false);

static carry_fn_bench_parse *bench_parse_pointer = bench_parse_function;
static carry_fn_bench_filter *bench_filter_pointer = bench_filter_function;
static carry_fn_bench_checksum *bench_checksum_pointer = bench_checksum_function;
static carry_fn_bench_count *bench_count_pointer = bench_count_function;
static bool bench_tracing_flag, bench_mirroring_flag;

static APP_COLD void trace_packet(const struct packet *packet) {
    traced.packets++;
    traced.bytes += packet->size;
}

static void add_packet_operations(struct carry_patch *patch) {
    carry_set(patch, bench_parse, bench_parse_function);
    carry_set(patch, bench_filter, bench_filter_function);
    carry_set(patch, bench_checksum, bench_checksum_function);
    carry_set(patch, bench_count, bench_count_function);
    carry_disable(patch, bench_tracing);
    carry_disable(patch, bench_mirroring);
}

/* --- The loop --- */

static APP_ALWAYS_INLINE uint32_t process_packet(enum patch_app_form form,
                                                 const struct packet *packet) {
    if (APP_TEST(form, bench_tracing))
        trace_packet(packet);
    const uint32_t protocol = APP_CALL(form, bench_parse, packet->data, packet->size);
    if (!APP_CALL(form, bench_filter, packet->data, protocol))
        return 0;
    const uint32_t sum = APP_CALL(form, bench_checksum, packet->data, packet->size);
    if (APP_TEST(form, bench_mirroring))
        trace_packet(packet);
    (void)APP_CALL(form, bench_count, protocol, packet->size);
    return sum;
}

static APP_ALWAYS_INLINE uint32_t process_bursts(enum patch_app_form form, size_t bursts) {
    uint32_t all = 0;
    for (size_t i = 0; i < bursts; i++)
        for (size_t j = 0; j < BURST; j++)
            all += process_packet(form, &burst[j]);
    return all;
}

APP_RUN(run_bursts, process_bursts)

/* --- Packets --- */

static void write_test_packet(uint8_t *data, size_t number, size_t size) {
    memset(data, (int)number, size);
    data[0] = 0x45;
    data[2] = (uint8_t)(size >> 8);
    data[3] = (uint8_t)size;
    data[TTL] = 64;
    data[PROTOCOL] = number % 3 ? TCP : UDP;
    data[HEADER + 3] = 80;
}

static bool make_burst(void) {
    uint8_t *data = burst_bytes;
    for (size_t i = 0; i < BURST; i++) {
        const size_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
        write_test_packet(data, i, size);
        burst[i] = (struct packet){data, size};
        data += (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    }
    APP_MAY_CHANGE(bench_parse_pointer);
    APP_MAY_CHANGE(bench_filter_pointer);
    APP_MAY_CHANGE(bench_checksum_pointer);
    APP_MAY_CHANGE(bench_count_pointer);
    APP_MAY_CHANGE(bench_tracing_flag);
    APP_MAY_CHANGE(bench_mirroring_flag);
    return true;
}

static void close_packets(void) {
}

const struct patch_app patch_app_packets = {
    .name = "packets",
    .title = "packet loop",
    .unit = "packet",
    .units = BURST,
    .calls = 4,
    .branches = 2,
    .open = make_burst,
    .close = close_packets,
    .run = run_bursts,
    .add = add_packet_operations,
};
