/* SPDX-License-Identifier: MIT */
/* Tests senders of checksums: addresses and links, and the senders of IPv4 checksums of 0. */
#include <string.h>

#include <carry/sum.h>

#include "harness/frame.h"
#include "harness/session.h"
#include "harness/tap.h"

#define SENDERS_MAX 4096u /* of IPv4 checksums of 0, see docs/capture.md */
#define COOKED      113
#define COOKED2     276
#define BARE_SCTP   248
#define RAW         101

#define ONE   0x0a000001u /* 10.0.0.1 */
#define TWO   0x0a000002u
#define THREE 0x0a000003u

/* Link headers with other source addresses than ETHERNET4. */
#define OTHER_CARD "020000000001 020000000003 0800"
#define GROUP      "020000000001 030000000002 0800"

/* Returns the only sender of sums with this verdict. Its `at_most` is 0 if there is not exactly one
   sender. */
static struct carry_capture_sender sender_of(const struct session *session, unsigned protocol,
                                             unsigned verdict) {
    struct carry_capture_sender senders[2] = {{.at_most = 0}};
    if (carry_capture_senders(session->summary, protocol, verdict, false, senders, 2, NULL) != 1)
        senders->at_most = 0;
    return *senders;
}

/* Returns a TCP frame from this address, with an IPv4 checksum of 0. */
static struct frame *make_header(const char *link, uint32_t linktype, uint32_t address) {
    struct frame *frame = start(link);
    frame->linktype = linktype;
    const uint32_t ip = put_ip(frame, TCP, 20);
    set16(frame, ip + 12, address >> 16);
    set16(frame, ip + 14, address);
    set16(frame, ip + 10, 0);
    put_tcp(frame, &flow4, 0);
    return frame;
}

/* Like make_header(), with a partial TCP sum: the sender leaves both sums to its network card. */
static struct frame *make_left(const char *link, uint32_t linktype, uint32_t address) {
    struct frame *frame = make_header(link, linktype, address);
    const uint32_t tcp = frame->size - 20;
    const uint8_t *addresses = frame->bytes + tcp - 8;
    const uint16_t sum = carry_sum_fold(carry_sum_pseudo4(addresses, addresses + 4, TCP, 20, 0));
    memcpy(frame->bytes + tcp + 16, &sum, sizeof sum);
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
        struct session session;
        begin_session(&session, false);
        add_frame(&session, make_header(rows[i].link, rows[i].linktype, ONE));
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
    struct session session;
    begin_session(&session, false);
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, ONE));
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, ONE));
    add_frame(&session, make_header(ETHERNET "8100 0001 0800", LINK_ETHERNET, ONE));
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
    struct session session;
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

/* The headers come before the packets that show that senders leave sums to their network cards. */
static void test_many(void) {
    struct session session;
    begin_session(&session, false);
    for (uint32_t i = 0; i <= SENDERS_MAX; i++)
        add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, ONE + i));
    for (uint32_t i = 0; i <= SENDERS_MAX; i++)
        add_frame(&session, make_left(ETHERNET4, LINK_ETHERNET, ONE + i));
    end_session(&session);
    tap_ok(
        TAP_EQ(carry_capture_count(session.summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_BAD), 1) &&
            TAP_EQ(carry_capture_count(session.summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_PARTIAL),
                   2 * SENDERS_MAX + 1) &&
            TAP_EQ(carry_capture_totals(session.summary)->early, SENDERS_MAX),
        "senders are distinguished, up to the limit");
    carry_capture_summary_free(session.summary);
}

struct sent {
    const char *link;
    uint32_t linktype, address;
};

/* Returns whether a header of 0 is partial or, without `partial`, bad beside `left`, a packet that
   shows that its sender leaves sums to its network card. It comes before `left` or (`late`) after
   it. */
static bool is_judged(const struct sent *header, const struct sent *left, bool late, bool partial) {
    struct session session;
    begin_session(&session, false);
    for (unsigned i = 0; i < 2; i++)
        add_frame(&session, (i == 1) == late
                                ? make_header(header->link, header->linktype, header->address)
                                : make_left(left->link, left->linktype, left->address));
    end_session(&session);
    const struct carry_capture_summary *summary = session.summary;
    const bool ok =
        TAP_EQ(carry_capture_count(summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_PARTIAL),
               1u + partial) &&
        TAP_EQ(carry_capture_count(summary, CARRY_PROTOCOL_IP, CARRY_VERDICT_BAD), !partial) &&
        TAP_EQ(carry_capture_totals(summary)->early, partial && !late);
    carry_capture_summary_free(session.summary);
    return ok;
}

static void test_cards(void) {
    static const struct {
        struct sent header, left;
        bool partial;
        const char *name;
    } rows[] = {
        {{ETHERNET4, LINK_ETHERNET, ONE}, {OTHER_CARD, LINK_ETHERNET, ONE}, true, "one address"},
        {{"", RAW, ONE}, {"", RAW, ONE}, true, "one address without cards"},
        {{"", RAW, ONE}, {ETHERNET4, LINK_ETHERNET, ONE}, true, "one address with a card once"},
        {{ETHERNET4, LINK_ETHERNET, ONE}, {ETHERNET4, LINK_ETHERNET, TWO}, true, "one card"},
        {{ETHERNET4, LINK_ETHERNET, ONE}, {OTHER_CARD, LINK_ETHERNET, TWO}, false, "two cards"},
        {{GROUP, LINK_ETHERNET, ONE}, {GROUP, LINK_ETHERNET, TWO}, false, "one group"},
        {{"", RAW, ONE}, {"", RAW, TWO}, false, "two addresses without cards"},
        {{"", RAW, ONE}, {"", RAW, 0}, false, "an address beside 0.0.0.0, without cards"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool partial = rows[i].partial;
        bool ok = is_judged(&rows[i].header, &rows[i].left, false, partial);
        ok &= is_judged(&rows[i].header, &rows[i].left, true, partial);
        tap_ok(ok, "headers of %s are %s", rows[i].name, partial ? "left" : "not left");
    }
}

/* The capturing machine says that the sum of an IPv4 header is left; the TCP sum is good. */
static void add_said_left(struct session *session) {
    struct frame *frame = start(ETHERNET4);
    set16(frame, put_ip(frame, TCP, 20) + 10, 0);
    put_tcp(frame, &flow4, 0);
    add_packet(session, (struct carry_capture_packet){.data = frame->bytes,
                                                      .captured = frame->size,
                                                      .wire = frame->size,
                                                      .linktype = frame->linktype,
                                                      .flags = CARRY_CAPTURE_PACKET_SUM_LEFT,
                                                      .left_at = 14 + 10});
}

static void test_related(void) {
    static const uint64_t related[] = {1, 2, 5, 6, 8, 10};
    struct session session;
    begin_session(&session, true);
    add_frame(&session, make_header(ETHERNET4, LINK_ETHERNET, ONE));
    for (uint32_t i = 0; i < 3; i++)
        add_frame(&session, make_left(ETHERNET4, LINK_ETHERNET, ONE));
    add_frame(&session, make_left(ETHERNET4, LINK_ETHERNET, TWO));
    for (uint32_t i = 0; i < 2; i++)
        add_frame(&session, make_left(OTHER_CARD, LINK_ETHERNET, TWO));
    for (uint32_t i = 0; i < 2; i++)
        add_frame(&session, make_left("", RAW, THREE));
    add_said_left(&session);
    end_session(&session);
    tap_ok(TAP_EQ(session.related_count, 6) && TAP_MEMEQ(session.related, related, sizeof related),
           "headers of 0, and the first packets that show that an address or a card leaves sums, "
           "are related to others");
    carry_capture_summary_free(session.summary);
}

/*
 * Returns whether a check is complete for a packet whose sums are left to the network card,
 * followed by another frame from which the capture cut off `cut` bytes.
 */
static bool is_complete_with(const struct frame *frame, uint32_t linktype, uint32_t cut) {
    struct session session;
    begin_session(&session, false);
    add_packet(&session, (struct carry_capture_packet){.data = frame->bytes,
                                                       .captured = frame->size - cut,
                                                       .wire = frame->size,
                                                       .linktype = linktype});
    add_frame(&session, make_left(ETHERNET4, LINK_ETHERNET, ONE));
    end_session(&session);
    const bool complete = carry_capture_is_complete(session.summary, CARRY_CAPTURE_WRONG_VERDICTS);
    carry_capture_summary_free(session.summary);
    return complete;
}

static void test_complete(void) {
    tap_ok(is_complete_with(make_left(ETHERNET4, LINK_ETHERNET, TWO), LINK_ETHERNET, 0),
           "a check that examined everything is complete");
    tap_ok(!is_complete_with(make_left(ETHERNET4, LINK_ETHERNET, TWO), 147, 0),
           "a check with an unknown link type is incomplete");
    tap_ok(!is_complete_with(make_left(ETHERNET4, LINK_ETHERNET, TWO), LINK_ETHERNET, 1),
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
    test_cards();
    test_related();
    test_complete();
    return tap_done();
}
