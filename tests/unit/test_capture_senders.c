/* SPDX-License-Identifier: MIT */
/* Tests senders of checksums: addresses and links, and the senders of IPv4 checksums of 0. */
#include <string.h>

#include <carry/sum.h>

#include "harness/captures.h"
#include "harness/frame.h"
#include "harness/tap.h"

#define SENDERS_MAX 4096u /* of IPv4 checksums of 0, see docs/capture.md */
#define COOKED      113
#define COOKED2     276
#define BARE_SCTP   248

/* A check of packets that are added one by one. */
struct session {
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary;
    uint64_t packets;
    uint64_t related[8]; /* the previous packets, for which the last one is related */
    unsigned related_count;
};

static bool note_related(void *user, const struct carry_capture_packet *packet) {
    struct session *session = user;
    session->related[session->related_count++ % 8] = packet->number;
    return true;
}

static void begin_session(struct session *session, bool alone) {
    const struct carry_capture_check_options options = {
        .threads = 1, .kept = 1, .alone = alone, .related = note_related, .user = session};
    session->summary = carry_capture_summary_create();
    carry_capture_checker_create(&options, &session->checker);
    carry_capture_checker_begin(session->checker, session->summary);
}

static void add_frame(struct session *session, const struct frame *frame) {
    const struct carry_capture_packet packet = {.data = frame->bytes,
                                                .captured = frame->size,
                                                .wire = frame->size,
                                                .linktype = frame->linktype,
                                                .number = ++session->packets};
    carry_capture_checker_add(session->checker, &packet, 1);
}

static void end_session(struct session *session) {
    carry_capture_checker_end(session->checker);
    carry_capture_checker_free(session->checker);
}

/* Returns the only sender of sums with this verdict. */
static struct carry_capture_sender sender_of(const struct session *session, unsigned protocol,
                                             unsigned verdict) {
    struct carry_capture_sender senders[2] = {{.at_most = 0}};
    if (carry_capture_senders(session->summary, protocol, verdict, false, senders, 2, NULL) != 1)
        senders->at_most = 0;
    return *senders;
}

/* Returns TCP from 10.`sender` on a link, with an IPv4 checksum of 0. */
static struct frame *make_header(const char *link, uint32_t linktype, uint32_t sender) {
    struct frame *frame = start(link);
    frame->linktype = linktype;
    const uint32_t ip = put_ip(frame, TCP, 20);
    const uint8_t address[4] = {10, (uint8_t)(sender >> 16), (uint8_t)(sender >> 8),
                                (uint8_t)sender};
    memcpy(frame->bytes + ip + 12, address, sizeof address);
    set16(frame, ip + 10, 0);
    put_tcp(frame, &flow4, 0);
    return frame;
}

/* Like make_header(), with a partial TCP sum: the sender leaves both to its network card. */
static struct frame *make_left(uint32_t sender) {
    struct frame *frame = make_header(ETHERNET4, LINK_ETHERNET, sender);
    const uint8_t *addresses = frame->bytes + 14 + 12;
    const uint16_t sum = carry_sum_fold(carry_sum_pseudo4(addresses, addresses + 4, TCP, 20, 0));
    memcpy(frame->bytes + 14 + 20 + 16, &sum, sizeof sum);
    return frame;
}

/* --- Links --- */

static void test_links(void) {
    static const struct {
        const char *link;
        uint32_t linktype, vlans;
        int mac; /* the last byte; -1: there is no address of six bytes */
    } rows[] = {
        {ETHERNET4, LINK_ETHERNET, 0, 2},
        {ETHERNET "8100 0001 8100 0002 8100 0003 8100 0004 0800", LINK_ETHERNET, 4, 2},
        {ETHERNET "8100 0001 8100 0002 8100 0003 8100 0004 8100 0005 0800", LINK_ETHERNET, 4, 2},
        {"0000 0001 0006 020000000007 0000 0800", COOKED, 0, 7},
        {"0000 0001 0008 0200000000070000 0800", COOKED, 0, -1},
        {"0800 0000 00000001 0001 00 06 020000000007 0000", COOKED2, 0, 7},
        {"0800 0000 00000001 0001 00 08 0200000000070000", COOKED2, 0, -1},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct session session = {.packets = 0};
        begin_session(&session, false);
        add_frame(&session, make_header(rows[i].link, rows[i].linktype, 1));
        end_session(&session);
        const struct carry_capture_link link =
            sender_of(&session, CARRY_PROTOCOL_IP, CARRY_VERDICT_BAD).link;
        bool ok = TAP_EQ(link.vlans_count, rows[i].vlans) &&
                  TAP_EQ(link.has_mac, rows[i].mac >= 0) &&
                  TAP_EQ(link.mac[5], link.has_mac ? rows[i].mac : 0);
        for (unsigned vlan = 0; vlan < rows[i].vlans; vlan++)
            ok &= link.vlans[vlan] == vlan + 1;
        tap_ok(ok, "the sender's link is reported, case %u", i + 1);
        carry_capture_summary_free(session.summary);
    }
}

static void test_two_links(void) {
    struct session session = {.packets = 0};
    begin_session(&session, false);
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, 1));
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, 1));
    add_frame(&session, make_header(ETHERNET "8100 0001 0800", LINK_ETHERNET, 1));
    end_session(&session);
    const struct carry_capture_sender sender =
        sender_of(&session, CARRY_PROTOCOL_IP, CARRY_VERDICT_BAD);
    tap_ok(TAP_EQ(sender.at_most, 3) && TAP_EQ(sender.address.bytes[3], 1) &&
               TAP_TRUE(!sender.link.has_mac) && TAP_EQ(sender.link.vlans_count, 0),
           "a sender on two links is reported without a link");
    carry_capture_summary_free(session.summary);
}

/* SCTP may be captured without IP. */
static void test_no_address(void) {
    struct session session = {.packets = 0};
    struct frame *frame = start("9c40 1389 12345678 deadbeef 00030008 64617461");
    frame->linktype = BARE_SCTP;
    begin_session(&session, false);
    add_frame(&session, frame);
    end_session(&session);
    const struct carry_capture_finding *kept = carry_capture_kept(session.summary, 0);
    static const struct carry_capture_address none;
    tap_ok(TAP_EQ(sender_of(&session, CARRY_PROTOCOL_SCTP, CARRY_VERDICT_BAD).at_most, 1) &&
               TAP_TRUE(kept) && TAP_MEMEQ(&kept->from, &none, sizeof none) &&
               TAP_MEMEQ(&kept->to, &none, sizeof none),
           "without IP, a sender has no address");
    carry_capture_summary_free(session.summary);
}

/* --- IPv4 checksums of 0 --- */

/* The headers precede the evidence that their senders leave such sums to their network cards. */
static void test_many(void) {
    struct session session = {.packets = 0};
    begin_session(&session, false);
    for (uint32_t i = 0; i <= SENDERS_MAX; i++)
        add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, i));
    for (uint32_t i = 0; i <= SENDERS_MAX; i++)
        add_frame(&session, make_left(i));
    end_session(&session);
    tap_ok(
        TAP_EQ(carry_capture_count(session.summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_BAD), 1) &&
            TAP_EQ(carry_capture_count(session.summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_PARTIAL),
                   2 * SENDERS_MAX + 1) &&
            TAP_EQ(carry_capture_totals(session.summary)->early, SENDERS_MAX),
        "senders are distinguished, up to the limit");
    carry_capture_summary_free(session.summary);
}

static void test_related(void) {
    static const uint64_t related[] = {1, 2, 5};
    struct session session = {.packets = 0};
    begin_session(&session, true);
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, 1));
    for (uint32_t i = 0; i < 3; i++)
        add_frame(&session, make_left(1));
    add_frame(&session, make_left(2));
    end_session(&session);
    tap_ok(TAP_EQ(session.related_count, 3) && TAP_MEMEQ(session.related, related, sizeof related),
           "the first packet with a sum left to the network card is related to others");
    carry_capture_summary_free(session.summary);
}

/*
 * Returns whether a check is complete for a packet whose sums are left to the network card,
 * followed by another frame from which the capture cut off `cut` bytes.
 */
static bool is_complete_with(const struct frame *frame, uint32_t linktype, uint32_t cut) {
    struct session session = {.packets = 0};
    const struct carry_capture_packet packet = {.data = frame->bytes,
                                                .captured = frame->size - cut,
                                                .wire = frame->size,
                                                .linktype = linktype,
                                                .number = 2};
    begin_session(&session, false);
    carry_capture_checker_add(session.checker, &packet, 1);
    add_frame(&session, make_left(1));
    end_session(&session);
    const bool complete = carry_capture_is_complete(session.summary, CARRY_CAPTURE_WRONG_VERDICTS);
    carry_capture_summary_free(session.summary);
    return complete;
}

static void test_complete(void) {
    tap_ok(is_complete_with(make_left(2), LINK_ETHERNET, 0),
           "a check that examined everything is complete");
    tap_ok(!is_complete_with(make_left(2), 147, 0),
           "a check with an unknown link type is incomplete");
    tap_ok(!is_complete_with(make_left(2), LINK_ETHERNET, 1),
           "a check with a frame that was cut off is incomplete");
    struct frame *deep = start(ETHERNET "8100");
    for (unsigned i = 0; i < 2 * CARRY_PACKET_SUMS_MAX; i++)
        put(deep, "0001 8100");
    tap_ok(!is_complete_with(deep, LINK_ETHERNET, 0),
           "a check with more headers than are examined is incomplete");
}

int main(void) {
    test_links();
    test_two_links();
    test_no_address();
    test_many();
    test_related();
    test_complete();
    return tap_done();
}
