/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reassembly of datagrams.
 *
 * The input is a protocol number, the first bytes of every datagram's content, and records of four
 * bytes. The content may contain any headers, including fragments. Each record makes a fragment:
 * any part of one of eight datagrams, possibly with a wrong byte, truncated, or late.
 */
#include <string.h>

#include "fuzz.h"
#include "reassemble.h"

#define HEAD_SIZE    64
#define HEADER4_SIZE 20
#define HEADER6_SIZE 48

/* The most memory that a fragment may cost besides its bytes: for its source and its sums. */
#define RECORD_MAX (1024 + CARRY_PACKET_SUMS_MAX * sizeof(struct carry_packet_sum))

enum { IS_VERSION6 = 1, IS_MORE = 8, IS_WRONG = 16, IS_CUT = 32, IS_LATE = 64, IS_FAR = 128 };

struct run {
    const uint8_t *head;
    uint8_t protocol;
    struct reassembler *reassembler;
    uint64_t number, time_ns;
    uint64_t captured;             /* bytes of all fragments */
    bool any_wrong[8], any_cut[8]; /* by datagram */
};

/* A fragment to make. */
struct plan {
    unsigned datagram;
    bool version6, more, wrong, cut;
    uint32_t place, size;
};

static uint8_t content_byte(const struct run *run, unsigned datagram, uint32_t at) {
    return at < HEAD_SIZE ? run->head[at] : (uint8_t)(at * 7 + (at >> 8) + datagram);
}

static uint32_t plan_header_size(const struct plan *plan) {
    return plan->version6 ? HEADER6_SIZE : HEADER4_SIZE;
}

static void put16_network(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static void put_header(uint8_t *packet, const struct run *run, const struct plan *plan) {
    memset(packet, 0, plan_header_size(plan));
    if (plan->version6) {
        packet[0] = 0x60;
        put16_network(packet + 4, 8 + plan->size);
        packet[6] = 44;
        packet[40] = run->protocol;
        put16_network(packet + 42, plan->place | plan->more);
        packet[47] = (uint8_t)plan->datagram;
        return;
    }
    packet[0] = 0x45;
    put16_network(packet + 2, HEADER4_SIZE + plan->size);
    packet[5] = (uint8_t)plan->datagram;
    put16_network(packet + 6, plan->place / 8 | (plan->more ? 0x2000u : 0));
    packet[9] = run->protocol;
}

/* Requires that a datagram of untruncated fragments is complete, and that a datagram of fragments
   without wrong bytes has their bytes. */
static void check_content(const struct run *run, const struct plan *plan,
                          const struct datagram *datagram) {
    const struct carry_capture_packet *packet = &datagram->packet;
    uint32_t header = plan_header_size(plan);
    require(run->any_cut[plan->datagram] || packet->captured == packet->wire,
            "a gap, though everything was captured");
    if (run->any_wrong[plan->datagram])
        return;
    for (uint32_t at = header; at < packet->captured; at++)
        require(packet->data[at] == content_byte(run, plan->datagram, at - header),
                "a datagram with other bytes than its fragments");
}

static void check_datagram(const struct run *run, const struct datagram *datagram) {
    require(datagram->packet.captured <= datagram->packet.wire,
            "more bytes captured than on the wire");
    require(datagram->packet.number == run->number, "a datagram completed by another frame");
    require(datagram->superseded_count == 0 || datagram->superseded_frame <= run->number,
            "a first fragment that has not arrived");
    require(datagram->fresh_count <= datagram->count, "more fresh sums than sums");
    for (size_t i = 0; i < datagram->fresh_count; i++)
        require(datagram->fresh[i].field_offset >= HEADER4_SIZE, "a sum outside the content");
}

static void add_to_reassembler(struct run *run, const struct plan *plan,
                               const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const struct carry_frame frame = {.data = packet->data,
                                      .captured = packet->captured,
                                      .wire = packet->wire,
                                      .linktype = packet->linktype};
    size_t count =
        carry_packet_check_fragment(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    if (!fragment.version)
        return;
    const struct datagram *datagram =
        carry_reassembler_add(run->reassembler, packet, &fragment, sums, count);
    /* If the content itself contains an IP header, `fragment` may be a fragment of that packet. */
    if (datagram && fragment.network_offset == 0 &&
        fragment.content_offset == plan_header_size(plan))
        check_content(run, plan, datagram);
    for (; datagram; datagram = carry_reassembler_next(run->reassembler))
        check_datagram(run, datagram);
    size_t held = carry_reassembler_bytes(run->reassembler);
    require(held <= REASSEMBLER_BYTES_MAX, "too much memory");
    require(held <= run->captured + run->number * RECORD_MAX,
            "memory for bytes that were not captured");
}

static void add_planned_fragment(struct run *run, const struct plan *plan) {
    uint32_t size = plan_header_size(plan) + plan->size;
    uint32_t captured = plan->cut ? size - plan->size / 2 : size;
    uint8_t *data = malloc(captured);
    require(data != NULL, "out of memory");
    put_header(data, run, plan);
    for (uint32_t at = plan_header_size(plan); at < captured; at++)
        data[at] = content_byte(run, plan->datagram, plan->place + at - plan_header_size(plan));
    if (plan->wrong && captured > plan_header_size(plan))
        data[captured - 1] ^= 0xff;
    run->captured += captured;
    run->any_wrong[plan->datagram] |= plan->wrong;
    run->any_cut[plan->datagram] |= plan->cut;
    const struct carry_capture_packet packet = {.data = data,
                                                .captured = captured,
                                                .wire = size,
                                                .linktype = 101,
                                                .number = ++run->number,
                                                .time_ns = run->time_ns,
                                                .offset = run->number * 1000};
    add_to_reassembler(run, plan, &packet);
    free(data);
}

static void play_record(struct run *run, const uint8_t *record) {
    uint8_t flags = record[0];
    struct plan plan = {
        .datagram = flags & 7,
        .version6 = flags & IS_VERSION6,
        .more = flags & IS_MORE,
        .wrong = flags & IS_WRONG,
        .cut = flags & IS_CUT,
        .place = record[1] * 8u * (flags & IS_FAR ? 32 : 1),
        .size = record[2] * 8u + record[3] % 8 * (record[3] >= 128),
    };
    run->time_ns += flags & IS_LATE ? REASSEMBLER_SECONDS * UINT64_C(1000000001) : 1;
    add_planned_fragment(run, &plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 + HEAD_SIZE)
        return 0;
    struct run run = {.head = data + 1,
                      .protocol = data[0],
                      .reassembler = carry_reassembler_create(NULL),
                      .time_ns = 1};
    require(run.reassembler != NULL, "out of memory");
    for (size_t at = 1 + HEAD_SIZE; at + 4 <= size; at += 4)
        play_record(&run, data + at);
    carry_reassembler_end(run.reassembler);
    require(carry_reassembler_bytes(run.reassembler) == 0, "memory left allocated at the end");
    uint64_t total = 0;
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++)
        total += carry_reassembler_counts(run.reassembler)[i];
    require(total <= 2 * run.number, "more datagrams than fragments");
    carry_reassembler_free(run.reassembler);
    return 0;
}
