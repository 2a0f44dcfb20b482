/* SPDX-License-Identifier: MIT */
/*
 * Tests the causes that flows and pairs of addresses show, and near misses that must not show them.
 * Tests in Python cover all causes.
 */
#include "harness/frame.h"
#include "harness/session.h"
#include "harness/tap.h"

#define FLOWS_MAX  256 /* see docs/capture.md */
#define OTHER_CARD "020000000001 020000000003 0800"
#define DIFFERENCE 0x1111u /* no bit, and nothing else that one packet explains */

enum { GRE = 47 };

static uint64_t count_of(const struct session *session, unsigned protocol, unsigned cause) {
    return carry_capture_cause_count(session->summary, protocol, cause);
}

/* --- Headers of 0 --- */

/* Returns a frame whose IPv4 header holds 0 before `size` bytes of data in a TCP packet. Its sum is
   left to the network card, but the source address was changed later. */
static struct frame *make_changed(const char *link, uint32_t size) {
    static const struct flow before = {LAST4, DST4};
    struct frame *frame = start(link);
    const uint32_t ip = put_ip(frame, TCP, 20 + size);
    set16(frame, ip + 10, 0);
    const uint32_t tcp = put_tcp(frame, &flow4, size);
    set16(frame, tcp + 16, (uint32_t)pseudo(&before, TCP, 20 + size).sum);
    return frame;
}

/* One of several cards may leave headers, so headers from several cards show nothing. */
static void test_cards_of_flow(void) {
    static const struct {
        const char *last, *name;
        enum carry_capture_cause cause;
    } rows[] = {
        {ETHERNET4, "one card", CARRY_CAPTURE_CAUSE_LEFT_THEN_CHANGED},
        {OTHER_CARD, "two cards", CARRY_CAPTURE_CAUSE_ZERO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct session session;
        begin_session(&session, false);
        for (uint32_t size = 0; size < 4; size++)
            add_frame(&session, make_changed(size < 3 ? ETHERNET4 : rows[i].last, size));
        end_session(&session);
        tap_ok(TAP_EQ(count_of(&session, CARRY_PROTOCOL_TCP, CARRY_CAPTURE_CAUSE_LEFT_THEN_CHANGED),
                      4) &&
                   TAP_EQ(count_of(&session, CARRY_PROTOCOL_IP, rows[i].cause), 4),
               "headers of 0 from %s: %s", rows[i].name, carry_capture_cause_name(rows[i].cause));
        carry_capture_summary_free(session.summary);
    }
}

/* Returns a frame whose IPv4 header holds 0, and whose next sum holds 0x1234 whatever it covers. */
static struct frame *make_constant(uint8_t protocol, uint8_t number) {
    struct frame *frame = start(ETHERNET4);
    const uint32_t ip = put_ip(frame, protocol, 24);
    set16(frame, ip + 10, 0);
    if (protocol == TCP)
        put(frame, "0050 c001 01020304 00000000 5010 ffff 1234 0000");
    else
        put(frame, "0800 1234 0001 0002 000000000000000000000000");
    put_many(frame, 4, number, 1);
    return frame;
}

/* Only sums over pseudo-headers show that headers of 0 have a cause: theirs covers the addresses.
 */
static void test_without_pseudo(void) {
    static const struct {
        uint8_t protocol;
        unsigned sum;
        enum carry_capture_cause cause;
    } rows[] = {
        {TCP, CARRY_PROTOCOL_TCP, CARRY_CAPTURE_CAUSE_CONSTANT},
        {ICMP, CARRY_PROTOCOL_ICMP, CARRY_CAPTURE_CAUSE_ZERO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct session session;
        begin_session(&session, false);
        for (uint8_t number = 0; number < 10; number++)
            add_frame(&session, make_constant(rows[i].protocol, number));
        end_session(&session);
        tap_ok(TAP_EQ(count_of(&session, rows[i].sum, CARRY_CAPTURE_CAUSE_CONSTANT), 10) &&
                   TAP_EQ(count_of(&session, CARRY_PROTOCOL_IP, rows[i].cause), 10),
               "headers of 0 before constant sums of %s: %s",
               carry_packet_protocol_name(rows[i].sum), carry_capture_cause_name(rows[i].cause));
        carry_capture_summary_free(session.summary);
    }
}

/* --- Flows --- */

/* Returns a TCP packet of a flow and a port whose sum is off by DIFFERENCE. */
static struct frame *make_segment(const struct flow *flow, uint16_t port, uint8_t number) {
    struct frame *frame = start(ETHERNET4);
    const uint32_t ip = put_ip(frame, TCP, 24);
    frame->size = ip + 12;
    put(frame, flow->src);
    put(frame, flow->dst);
    seal_ip(frame, ip);
    const uint32_t tcp = put_tcp(frame, flow, 0);
    put_many(frame, 4, number, 1);
    set16(frame, tcp, port);
    seal(frame, tcp + 16, tcp, 24, pseudo(flow, TCP, 24));
    add16(frame, tcp + 16, DIFFERENCE);
    return frame;
}

/* A flow that was replaced and begins again says nothing of its first sums. */
static void test_replaced(void) {
    static const struct flow others = {LAST4, DST4};
    struct session session;
    begin_session(&session, false);
    add_frame(&session, make_segment(&flow4, 1, 0));
    for (uint16_t port = 0; port < FLOWS_MAX; port++)
        add_frame(&session, make_segment(&others, port, (uint8_t)port));
    for (uint8_t number = 1; number <= CARRY_CAPTURE_FLOW_AGREES; number++)
        add_frame(&session, make_segment(&flow4, 1, number));
    end_session(&session);
    const struct carry_capture_finding *first = carry_capture_kept(session.summary, 0);
    tap_ok(TAP_EQ(first->number, 1) && TAP_EQ(first->cause, CARRY_CAPTURE_CAUSE_NONE) &&
               TAP_EQ(count_of(&session, CARRY_PROTOCOL_TCP, CARRY_CAPTURE_CAUSE_NONE), 1) &&
               TAP_EQ(count_of(&session, CARRY_PROTOCOL_TCP, CARRY_CAPTURE_CAUSE_REWRITTEN),
                      FLOWS_MAX + CARRY_CAPTURE_FLOW_AGREES),
           "a flow that was replaced shows the cause of the sums since then");
    carry_capture_summary_free(session.summary);
}

static struct frame *make_nhrp(bool over_ip, uint8_t number) {
    struct frame *frame = start(over_ip ? ETHERNET4 : ETHERNET "2001");
    if (over_ip) {
        put_ip(frame, GRE, 4 + 28);
        put(frame, "0000 2001");
    }
    const uint32_t nhrp = put(frame, "0001 0800 0000000000 ff 001c 0000 0000 01 01 04 00");
    put_many(frame, 8, number, 1);
    seal(frame, nhrp + 12, nhrp, 28, oracle_start(0));
    add16(frame, nhrp + 12, DIFFERENCE);
    return frame;
}

/* Without IP, there are no addresses that make a flow. */
static void test_without_ip(void) {
    for (unsigned over_ip = 0; over_ip < 2; over_ip++) {
        const enum carry_capture_cause cause =
            over_ip ? CARRY_CAPTURE_CAUSE_REWRITTEN : CARRY_CAPTURE_CAUSE_NONE;
        struct session session;
        begin_session(&session, false);
        for (uint8_t number = 0; number < 4; number++)
            add_frame(&session, make_nhrp(over_ip, number));
        end_session(&session);
        tap_ok(TAP_EQ(count_of(&session, CARRY_PROTOCOL_NHRP, cause), 4), "NHRP over %s: %s",
               over_ip ? "IPv4" : "Ethernet", carry_capture_cause_name(cause));
        carry_capture_summary_free(session.summary);
    }
}

/* --- Pairs of addresses --- */

static const struct {
    uint8_t protocol;
    unsigned sum;
    bool pseudo;
    uint32_t field;
    const char *bytes;
} packets[] = {
    {TCP, CARRY_PROTOCOL_TCP, true, 16, "0050 c001 01020304 00000000 5010 ffff 0000 0000"},
    {UDP, CARRY_PROTOCOL_UDP, true, 6, "3039 1092 0008 0000"},
    {UDPLITE, CARRY_PROTOCOL_UDPLITE, true, 6, "3039 1092 0008 0000"},
    {ICMP, CARRY_PROTOCOL_ICMP, false, 2, "0800 0000 0001 0002"},
    {IGMP, CARRY_PROTOCOL_IGMP, false, 2, "1600 0000 e0000116"},
};

#define PACKETS (sizeof packets / sizeof *packets)

/* Returns a packet whose sum is off by DIFFERENCE. */
static struct frame *make_packet(size_t index) {
    struct frame *frame = start(packets[index].bytes);
    const uint32_t size = frame->size;
    frame = start(ETHERNET4);
    put_ip(frame, packets[index].protocol, size);
    const uint32_t at = put(frame, packets[index].bytes);
    seal(frame, at + packets[index].field, at, size,
         packets[index].pseudo ? pseudo(&flow4, packets[index].protocol, size) : oracle_start(0));
    add16(frame, at + packets[index].field, DIFFERENCE);
    return frame;
}

/* A pair has room for four protocols; of another one, it shows nothing. */
static void test_protocols_of_pair(void) {
    for (size_t last = 0; last < PACKETS; last++) {
        struct session session;
        bool ok = true;
        begin_session(&session, false);
        for (size_t i = 1; i <= PACKETS; i++)
            add_frame(&session, make_packet((last + i) % PACKETS));
        end_session(&session);
        for (size_t i = 0; i < PACKETS; i++)
            ok &= TAP_EQ(
                count_of(&session, packets[i].sum,
                         i == last ? CARRY_CAPTURE_CAUSE_NONE : CARRY_CAPTURE_CAUSE_REWRITTEN),
                1);
        tap_ok(ok, "four protocols between two addresses are explained, and not %s after them",
               carry_packet_protocol_name(packets[last].sum));
        carry_capture_summary_free(session.summary);
    }
}

int main(void) {
    test_cards_of_flow();
    test_without_pseudo();
    test_replaced();
    test_without_ip();
    test_protocols_of_pair();
    return tap_done();
}
