/* SPDX-License-Identifier: MIT */
/* Tests checks and fills of packets whose sums the oracle computes. */
#include <string.h>

#include "harness/frame.h"
#include "harness/rng.h"
#include "selftest/selftest.h"

#define PAYLOAD_MAX 1480

/* A packet made by the oracle, and the place of the sum that covers its payload. */
struct sample {
    struct frame *frame;
    bool version6, udp;
    uint32_t transport, header_size, payload;
    uint32_t field;
};

static void seal_sample(const struct sample *sample) {
    const uint32_t size = sample->header_size + sample->payload;
    seal(sample->frame, sample->field, sample->transport, size,
         pseudo(sample->version6 ? &flow6 : &flow4, sample->udp ? UDP : TCP, size));
    if (sample->udp && get16(sample->frame, sample->field) == 0)
        set16(sample->frame, sample->field, 0xffff);
}

static struct sample make_sample(uint32_t payload) {
    struct sample sample = {.version6 = rng_below(2), .udp = rng_below(2), .payload = payload};
    const uint8_t protocol = sample.udp ? UDP : TCP;
    const struct flow *flow = sample.version6 ? &flow6 : &flow4;
    sample.header_size = sample.udp ? 8 : 20;
    sample.frame = start(sample.version6 ? ETHERNET6 : ETHERNET4);
    (sample.version6 ? put_ipv6 : put_ip)(sample.frame, protocol, sample.header_size + payload);
    sample.transport = (sample.udp ? put_udp : put_tcp)(sample.frame, flow, payload);
    sample.field = sample.transport + (sample.udp ? 6 : 16);
    rng_fill(sample.frame->bytes + sample.transport + sample.header_size, payload);
    seal_sample(&sample);
    return sample;
}

static size_t judge_sample(const struct library *library, const struct frame *frame,
                           struct carry_packet_sum *sums) {
    const struct carry_frame view = view_cut(frame, frame->size);
    return library->carry_packet_check(&view, NULL, sums, CARRY_PACKET_SUMS_MAX);
}

/* Returns whether the library finds a sum wrong: bad or, if the sum happens to look like one of
 * transmit offload, partial. */
static bool is_wrong_sum(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_BAD || sum->verdict == CARRY_VERDICT_PARTIAL;
}

/* Returns whether the library finds each sum of a packet, and judges it good. Unless `good`, the
 * sum that covers the payload must be wrong instead, with the right sum `expected`. */
static bool has_verdicts(const struct library *library, const struct sample *sample, bool good,
                         uint32_t expected) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const size_t count = judge_sample(library, sample->frame, sums);
    bool ok = count == (sample->version6 ? 1 : 2);
    for (size_t i = 0; i < count; i++)
        ok = ok && (sums[i].field_offset == sample->field && !good
                        ? is_wrong_sum(&sums[i]) && sums[i].expected == expected
                        : sums[i].verdict == CARRY_VERDICT_GOOD);
    return ok;
}

static bool fail_sample(struct selftest_row *row, const struct sample *sample, const char *what) {
    return verdict_fail(&row->verdict, "%s: %s over %s, %u bytes of payload", what,
                        sample->udp ? "UDP" : "TCP", sample->version6 ? "IPv6" : "IPv4",
                        sample->payload);
}

/* Returns whether a changed bit of the payload makes the sum wrong, with the oracle's sum as the
 * expected value; true if there is no payload. */
static bool damaged_is_bad(struct selftest_row *row, const struct sample *sample) {
    uint8_t *bytes = sample->frame->bytes + sample->transport + sample->header_size;
    const uint32_t stored = get16(sample->frame, sample->field);
    if (!sample->payload)
        return true;
    bytes[rng_below(sample->payload)] ^= (uint8_t)(1u << rng_below(8));
    seal_sample(sample);
    const uint32_t expected = get16(sample->frame, sample->field);
    set16(sample->frame, sample->field, stored);
    return has_verdicts(row->library, sample, false, expected) ||
           fail_sample(row, sample, "damage is not found");
}

static bool check_packet(struct selftest_row *row, uint32_t payload) {
    const struct sample sample = make_sample(payload);
    row->verdict.calls += 2;
    if (!has_verdicts(row->library, &sample, true, 0))
        return fail_sample(row, &sample, "a right packet is not good");
    return damaged_is_bad(row, &sample);
}

static bool fill_packet(struct selftest_row *row, uint32_t payload) {
    const struct sample sample = make_sample(payload);
    static struct frame wanted;
    wanted = *sample.frame;
    set16(sample.frame, sample.field, (uint32_t)rng_next());
    if (!sample.version6)
        set16(sample.frame, sample.transport - 10, (uint32_t)rng_next());
    const struct carry_frame view = view_cut(sample.frame, sample.frame->size);
    row->verdict.calls++;
    row->library->carry_packet_fill(&view, NULL, NULL, 0);
    return memcmp(view.data, wanted.bytes, wanted.size) == 0 ||
           fail_sample(row, &sample, "sums are filled in wrongly");
}

/* --- The rows --- */

static void all_payloads(struct selftest_row *row,
                         bool (*packet)(struct selftest_row *row, uint32_t payload)) {
    for (uint32_t payload = 0; payload <= PAYLOAD_MAX; payload++)
        if (!packet(row, payload))
            return;
}

static void try_checks(void *row) {
    all_payloads(row, check_packet);
}

static void try_fills(void *row) {
    all_payloads(row, fill_packet);
}

static void run_packet_checks(struct selftest_row *row) {
    selftest_guard(row, try_checks);
}

static void run_packet_fills(struct selftest_row *row) {
    selftest_guard(row, try_fills);
}

void selftest_add_packets(struct selftest *test) {
    selftest_add(test, "packet", "check", run_packet_checks);
    selftest_add(test, "packet", "fill", run_packet_fills);
}
