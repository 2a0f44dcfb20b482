/* SPDX-License-Identifier: MIT */
/*
 * Tests checking captures: summaries, findings in order, equal results with any number of threads,
 * cancellation at every callback, failing allocations, and a custom judge.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/effort.h"
#include "harness/tap.h"

enum { IP = CARRY_PROTOCOL_IP, TCP = CARRY_PROTOCOL_TCP, UDP = CARRY_PROTOCOL_UDP };

#define PARTIAL_TOO (CARRY_CAPTURE_WRONG_VERDICTS | 1u << CARRY_VERDICT_PARTIAL)
#define FOUND_MAX   64
#define MANY        CARRY_CAPTURE_SENDERS_MAX

/* The findings and progress that callbacks received, and when they cancel. */
struct heard {
    struct carry_capture_finding findings[FOUND_MAX];
    unsigned count;
    unsigned cancels_at; /* the finding, from 1, at which to cancel; 0: none */
    unsigned progresses, progress_cancels_at;
    uint64_t last_packets;
    bool is_ordered;
};

static bool hear_finding(void *user, const struct carry_capture_finding *finding) {
    struct heard *heard = user;
    if (heard->count && finding->number < heard->findings[(heard->count - 1) % FOUND_MAX].number)
        heard->is_ordered = false;
    heard->findings[heard->count++ % FOUND_MAX] = *finding;
    return heard->count != heard->cancels_at;
}

static bool hear_progress(void *user, const struct carry_capture_progress *progress) {
    struct heard *heard = user;
    if (progress->packets < heard->last_packets)
        heard->is_ordered = false;
    heard->last_packets = progress->packets;
    return ++heard->progresses != heard->progress_cancels_at;
}

static struct carry_capture_check_options options_for(struct heard *heard, uint32_t threads) {
    heard->is_ordered = true;
    return (struct carry_capture_check_options){
        .threads = threads,
        .listed = PARTIAL_TOO,
        .kept = 3,
        .finding = hear_finding,
        .progress = hear_progress,
        .user = heard,
    };
}

static int check_bytes(const struct bytes *bytes, const struct carry_capture_check_options *options,
                       struct carry_capture_summary **summary) {
    struct carry_capture *capture;
    *summary = NULL;
    if (carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL) != CARRY_OK)
        return CARRY_ERROR_MEMORY;
    int code = carry_capture_check(capture, options, summary);
    if (code != carry_capture_last_error(capture)->code)
        code = 1;
    carry_capture_close(capture);
    return code;
}

/* --- The summary --- */

static void test_counts(const struct bytes *bytes) {
    struct carry_capture_summary *summary;
    int code = check_bytes(bytes, NULL, &summary);
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    tap_ok(TAP_EQ(code, CARRY_OK) && TAP_EQ(totals->packets, CAPTURE_PACKETS) &&
               TAP_EQ(totals->unknown_links, 1) && TAP_EQ(totals->without, 1) &&
               TAP_EQ(totals->deeper, 0) && TAP_TRUE(totals->reassembled),
           "totals");
    tap_ok(TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_GOOD), 5) &&
               TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_PARTIAL), 2) &&
               TAP_EQ(carry_capture_count(summary, TCP, CARRY_VERDICT_GOOD), 2) &&
               TAP_EQ(carry_capture_count(summary, TCP, CARRY_VERDICT_BAD), 1) &&
               TAP_EQ(carry_capture_count(summary, TCP, CARRY_VERDICT_PARTIAL), 1) &&
               TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_ILLEGAL), 1) &&
               TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_BAD), 1) &&
               TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_UNVERIFIABLE), 1) &&
               TAP_EQ(carry_capture_total(summary, ~0u), 14),
           "sums are counted by protocol and verdict");
    tap_ok(
        TAP_EQ(carry_capture_reason_count(summary, UDP, CARRY_REASON_FRAGMENT), 1) &&
            TAP_EQ(carry_capture_cause_count(summary, IP, CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL), 1) &&
            TAP_EQ(carry_capture_cause_count(summary, IP, CARRY_CAPTURE_CAUSE_BY_SENDER), 1) &&
            TAP_EQ(carry_capture_cause_count(summary, IP, CARRY_CAPTURE_CAUSE_ZERO), 0) &&
            TAP_EQ(carry_capture_reassembly_count(summary, CARRY_CAPTURE_REASSEMBLY_COMPLETE), 1) &&
            TAP_EQ(carry_capture_reassembly_count(summary, CARRY_CAPTURE_REASSEMBLY_MISSING), 1),
        "reasons, causes and datagrams are counted");
    tap_ok(
        TAP_EQ(carry_capture_outcome(summary, CARRY_CAPTURE_WRONG_VERDICTS), CARRY_CAPTURE_WRONG) &&
            TAP_EQ(carry_capture_outcome(summary, 0), CARRY_CAPTURE_CLEAN) &&
            TAP_TRUE(!carry_capture_is_complete(summary, 0)),
        "the outcome is reported");
    carry_capture_summary_free(summary);
    summary = carry_capture_summary_create();
    tap_ok(TAP_EQ(carry_capture_outcome(summary, 0), CARRY_CAPTURE_UNCHECKED) &&
               TAP_TRUE(!carry_capture_is_complete(summary, 0)),
           "an empty capture has no checked sums");
    carry_capture_summary_free(summary);
}

static void test_senders(const struct bytes *bytes) {
    struct carry_capture_sender senders[CARRY_CAPTURE_SENDERS_MAX];
    struct carry_capture_summary *summary;
    bool complete = false;
    uint32_t linktype = 0;
    uint64_t packets = 0;
    check_bytes(bytes, NULL, &summary);
    size_t count =
        carry_capture_senders(summary, IP, CARRY_VERDICT_PARTIAL, false, senders, MANY, &complete);
    tap_ok(TAP_EQ(count, 1) && TAP_TRUE(complete) && TAP_EQ(senders->at_least, 2) &&
               TAP_EQ(senders->at_most, 2) && TAP_EQ(senders->address.version, 4) &&
               TAP_MEMEQ(senders->address.bytes, "\12\0\0\3", 4) &&
               TAP_TRUE(senders->link.has_mac) && TAP_EQ(senders->link.mac[5], 3),
           "the sender that leaves headers to its network card is reported");
    count = carry_capture_senders(summary, IP, CARRY_VERDICT_PARTIAL, true, senders, MANY, NULL);
    tap_ok(TAP_EQ(count, 1) && TAP_TRUE(!senders->link.has_mac),
           "a sender grouped by address has no link");
    tap_ok(TAP_EQ(carry_capture_senders(summary, IP, CARRY_VERDICT_GOOD, true, senders, MANY,
                                        &complete),
                  0) &&
               TAP_TRUE(complete) &&
               TAP_EQ(carry_capture_senders(summary, 1000, 1000, true, senders, MANY, NULL), 0),
           "there are no senders of good sums, nor of unknown protocols");
    tap_ok(TAP_TRUE(carry_capture_unknown_link(summary, 0, &linktype, &packets)) &&
               TAP_EQ(linktype, 147) && TAP_EQ(packets, 1) &&
               TAP_TRUE(!carry_capture_unknown_link(summary, 1, &linktype, &packets)),
           "the unknown link type is reported");
    carry_capture_summary_free(summary);
}

static void test_merged(const struct bytes *bytes) {
    struct carry_capture_sender senders[CARRY_CAPTURE_SENDERS_MAX];
    struct carry_capture_summary *summary, *all = carry_capture_summary_create();
    check_bytes(bytes, NULL, &summary);
    carry_capture_summary_merge(all, summary);
    carry_capture_summary_merge(all, summary);
    size_t count = carry_capture_senders(all, TCP, CARRY_VERDICT_BAD, false, senders, MANY, NULL);
    tap_ok(TAP_EQ(carry_capture_totals(all)->packets, 2 * CAPTURE_PACKETS) &&
               TAP_EQ(carry_capture_total(all, ~0u), 28) && TAP_EQ(count, 1) &&
               TAP_EQ(senders->at_most, 2) &&
               TAP_EQ(carry_capture_reassembly_count(all, CARRY_CAPTURE_REASSEMBLY_MISSING), 2) &&
               TAP_EQ(carry_capture_totals(all)->unknown_links, 2) &&
               TAP_TRUE(!carry_capture_kept(all, 0)),
           "two merged summaries add up");
    carry_capture_summary_free(summary);
    carry_capture_summary_free(all);
}

/* --- Findings --- */

static void test_findings(const struct bytes *bytes) {
    struct heard heard = {0};
    const struct carry_capture_check_options options = options_for(&heard, 1);
    struct carry_capture_summary *summary;
    check_bytes(bytes, &options, &summary);
    static const struct {
        uint64_t number;
        uint32_t protocol, verdict;
        bool reassembled;
    } expected[] = {
        {2, TCP, CARRY_VERDICT_BAD, false},     {3, IP, CARRY_VERDICT_PARTIAL, false},
        {3, TCP, CARRY_VERDICT_PARTIAL, false}, {4, UDP, CARRY_VERDICT_ILLEGAL, false},
        {6, IP, CARRY_VERDICT_PARTIAL, false},  {7, UDP, CARRY_VERDICT_BAD, true},
    };
    bool ok = TAP_EQ(heard.count, 6) && TAP_TRUE(heard.is_ordered) && TAP_GT(heard.progresses, 0) &&
              TAP_EQ(heard.last_packets, CAPTURE_PACKETS);
    for (unsigned i = 0; i < 6 && ok; i++) {
        const struct carry_capture_finding *finding = &heard.findings[i];
        const uint64_t at = finding->offset;
        ok = TAP_EQ(finding->number, expected[i].number) &&
             TAP_EQ(finding->sum.protocol, expected[i].protocol) &&
             TAP_EQ(finding->sum.verdict, expected[i].verdict) &&
             TAP_EQ(finding->reassembled, expected[i].reassembled) &&
             TAP_EQ(finding->sum.stored, (uint32_t)(bytes->data[at] << 8 | bytes->data[at + 1]));
    }
    tap_ok(ok, "findings are in order, each with its offset in the capture");
    const struct carry_capture_finding *bad = &heard.findings[0];
    tap_ok(TAP_EQ(bad->from.version, 4) && TAP_MEMEQ(bad->from.bytes, "\12\0\0\2", 4) &&
               TAP_GE(bad->from_port, 0) && TAP_EQ(bad->time_ns, UINT64_C(1700000000000000002)) &&
               TAP_TRUE(carry_capture_has_expected(&bad->sum)) &&
               TAP_EQ(heard.findings[4].cause, CARRY_CAPTURE_CAUSE_BY_SENDER),
           "a finding has all its members");
    const struct carry_capture_finding *last = carry_capture_kept(summary, 2);
    tap_ok(TAP_TRUE(last) && TAP_TRUE(!carry_capture_kept(summary, 3)) && TAP_EQ(last->number, 3) &&
               TAP_TRUE(!last->packet),
           "the first three findings are kept");
    carry_capture_summary_free(summary);
}

/*
 * A header checksum seems bad until a later frame shows that it is partial: the summary and the
 * kept finding have the final verdict.
 */
static void test_early(void) {
    const unsigned partial = 1u << CARRY_VERDICT_PARTIAL;
    const unsigned sets[] = {CARRY_CAPTURE_WRONG_VERDICTS, PARTIAL_TOO, partial,
                             1u << CARRY_VERDICT_ILLEGAL};
    static const unsigned first[] = {1, 1, 2, 0}; /* the packet of the first finding; 0: none */
    struct bytes bytes = make_early_capture();
    for (unsigned i = 0; i < 4; i++) {
        struct heard heard = {0};
        struct carry_capture_check_options options = options_for(&heard, 1);
        struct carry_capture_summary *summary;
        options.listed = sets[i];
        check_bytes(&bytes, &options, &summary);
        const struct carry_capture_finding *kept = carry_capture_kept(summary, 0);
        bool ok = TAP_EQ(carry_capture_totals(summary)->early, 1) &&
                  TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_BAD), 0) &&
                  TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_PARTIAL), 2) &&
                  TAP_EQ(heard.findings[0].number, first[i]) &&
                  TAP_EQ(kept != NULL, (sets[i] & partial) != 0);
        ok &= !kept || (kept->number == 1 && kept->sum.verdict == CARRY_VERDICT_PARTIAL &&
                        kept->cause == CARRY_CAPTURE_CAUSE_BY_SENDER);
        tap_ok(ok, "a header that turns out to be partial is reported so, for verdicts 0x%x",
               sets[i]);
        carry_capture_summary_free(summary);
    }
    bytes_free(&bytes);
}

static void test_selection(const struct bytes *bytes) {
    static const enum carry_protocol tcp = CARRY_PROTOCOL_TCP, none = CARRY_PROTOCOL_COUNT;
    struct carry_capture_check_options options = {
        .protocols = &tcp, .protocol_count = 1, .packets = 3};
    struct carry_capture_summary *summary;
    bool ok = TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_OK) &&
              TAP_EQ(carry_capture_total(summary, ~0u), 3) &&
              TAP_EQ(carry_capture_totals(summary)->packets, 3);
    carry_capture_summary_free(summary);
    tap_ok(ok, "limits of packets and protocols are obeyed");
    options = (struct carry_capture_check_options){.no_reassembly = true};
    ok = TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_OK) &&
         TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_UNVERIFIABLE), 2) &&
         TAP_TRUE(!carry_capture_totals(summary)->reassembled);
    carry_capture_summary_free(summary);
    tap_ok(ok, "fragments are not reassembled without the option");
    options = (struct carry_capture_check_options){.threads = CARRY_CAPTURE_THREADS_MAX + 1};
    tap_ok(TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_ERROR_INVALID) && TAP_TRUE(summary),
           "too many threads are refused");
    carry_capture_summary_free(summary);
    options = (struct carry_capture_check_options){.listed = 1u << CARRY_VERDICT_GOOD};
    tap_ok(TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_ERROR_INVALID),
           "findings of good sums are refused");
    carry_capture_summary_free(summary);
    options = (struct carry_capture_check_options){.protocols = &none, .protocol_count = 1};
    tap_ok(TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_ERROR_INVALID),
           "an unknown protocol is refused");
    carry_capture_summary_free(summary);
}

/* A summary can be reused with room for a different number of findings. */
static void test_kept(const struct bytes *bytes) {
    static const size_t rooms[] = {1, 3, 3, 0};
    struct carry_capture_summary *summary = carry_capture_summary_create();
    bool ok = true;
    for (unsigned i = 0; i < 4; i++) {
        const struct carry_capture_check_options options = {.kept = rooms[i]};
        struct carry_capture_checker *checker;
        struct feed feed = feed_of(bytes);
        struct carry_capture *capture = open_feed(&feed);
        carry_capture_checker_create(&options, &checker);
        ok &= carry_capture_checker_run(checker, capture, summary) == CARRY_OK &&
              !carry_capture_kept(summary, rooms[i]) &&
              (!rooms[i] || carry_capture_kept(summary, rooms[i] - 1));
        carry_capture_checker_free(checker);
        carry_capture_close(capture);
    }
    carry_capture_summary_free(summary);
    tap_ok(ok, "each check keeps as many findings as requested");
}

/* --- Time --- */

/*
 * Returns whether the spans have no gaps, are not too many, and add up to the counts of all
 * verdicts except unverifiable, which they do not count.
 */
static bool adds_up(const struct carry_capture_summary *summary) {
    uint64_t from, to, end = 0, sums[CARRY_VERDICT_COUNT] = {0};
    bool ok = true;
    size_t count = 0;
    for (; carry_capture_span(summary, count, &from, &to); count++) {
        ok &= from < to && (!count || from == end);
        end = to;
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            sums[verdict] += carry_capture_span_count(summary, count, verdict);
    }
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_UNVERIFIABLE; verdict++)
        ok &= sums[verdict] == carry_capture_total(summary, 1u << verdict);
    return ok && count && count <= CARRY_CAPTURE_SPANS_MAX && !sums[CARRY_VERDICT_UNVERIFIABLE] &&
           !carry_capture_span_count(summary, count, CARRY_VERDICT_GOOD) &&
           !carry_capture_span_count(summary, 0, CARRY_VERDICT_COUNT);
}

static void test_timeline(const struct bytes *bytes, const struct bytes *long_one) {
    const struct bytes *captures[] = {bytes, long_one};
    struct carry_capture_summary *merged = carry_capture_summary_create();
    uint64_t from, to;
    bool ok = true;
    for (uint32_t i = 0; i < 6 && ok; i++) {
        const struct carry_capture_check_options options = {.threads = 1 + i, .timeline = true};
        struct carry_capture_summary *summary;
        ok = TAP_EQ(check_bytes(captures[i % 2], &options, &summary), CARRY_OK) &&
             TAP_TRUE(adds_up(summary));
        carry_capture_summary_merge(merged, summary);
        carry_capture_summary_free(summary);
    }
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(adds_up(merged)), "spans of time add up to the counts");
    carry_capture_summary_free(merged);
    static const enum carry_protocol tcp = CARRY_PROTOCOL_TCP;
    const struct carry_capture_check_options selected = {
        .timeline = true, .protocols = &tcp, .protocol_count = 1};
    ok = TAP_EQ(check_bytes(bytes, &selected, &merged), CARRY_OK) && TAP_TRUE(adds_up(merged));
    carry_capture_summary_free(merged);
    tap_ok(ok, "spans of time add up for one protocol");
    check_bytes(bytes, NULL, &merged);
    tap_ok(!carry_capture_span(merged, 0, &from, &to),
           "there are no spans that were not requested");
    carry_capture_summary_free(merged);
}

/*
 * Finds both bad sums of a reassembled datagram. Whether the IPv4 checksum of 0 is bad is known
 * only at the end.
 */
static void test_tunnel(void) {
    struct bytes bytes = make_tunnel();
    struct heard heard = {0}, cut = {.cancels_at = 1};
    struct carry_capture_check_options options = options_for(&heard, 1);
    struct carry_capture_summary *summary;
    options.timeline = true;
    bool ok = TAP_EQ(check_bytes(&bytes, &options, &summary), CARRY_OK) && TAP_EQ(heard.count, 2) &&
              TAP_EQ(heard.findings[0].sum.protocol, IP) &&
              TAP_EQ(heard.findings[1].sum.protocol, TCP) &&
              TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_BAD), 1);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(adds_up(summary)),
           "two bad sums in one datagram are found, each with its time");
    carry_capture_summary_free(summary);
    options = options_for(&cut, 1);
    ok = TAP_EQ(check_bytes(&bytes, &options, &summary), CARRY_ERROR_CANCELLED) &&
         TAP_EQ(cut.count, 1);
    tap_ok(ok, "the check can be cancelled at the first of them");
    carry_capture_summary_free(summary);
    bytes_free(&bytes);
}

static void test_times(const struct bytes *long_one, unsigned copies) {
    const uint64_t first = UINT64_C(1700000000000000001), packets = copies * CAPTURE_PACKETS;
    const struct carry_capture_packet unknown = {.data = (const uint8_t *)"", .number = 1};
    const struct carry_capture_totals *totals;
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary, *merged = carry_capture_summary_create();
    bool ok = true;
    carry_capture_checker_create(NULL, &checker);
    carry_capture_checker_begin(checker, merged);
    carry_capture_checker_add(checker, &unknown, 1);
    carry_capture_checker_end(checker);
    carry_capture_checker_free(checker);
    totals = carry_capture_totals(merged);
    tap_ok(TAP_EQ(totals->packets, 1) && TAP_EQ(totals->first_ns, 0) && TAP_EQ(totals->last_ns, 0),
           "a capture without times has no times");
    for (uint32_t threads = 1; threads <= 4 && ok; threads++) {
        const struct carry_capture_check_options options = {.threads = threads};
        ok = check_bytes(long_one, &options, &summary) == CARRY_OK;
        totals = carry_capture_totals(summary);
        ok &= totals->first_ns == first && totals->last_ns == first + packets - 1 &&
              totals->packets == packets;
        carry_capture_summary_merge(merged, summary);
        carry_capture_summary_free(summary);
    }
    totals = carry_capture_totals(merged);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(totals->first_ns, first) &&
               TAP_EQ(totals->last_ns, first + packets - 1),
           "the earliest and the latest time are reported, also in merged summaries");
    carry_capture_summary_free(merged);
}

/* --- Packets that are judged separately --- */

/* Copies of packets that are related to other packets. */
struct relatives {
    struct carry_capture_packet packets[CAPTURE_PACKETS];
    uint8_t data[CAPTURE_PACKETS][256];
    unsigned count;
    unsigned cancels_at; /* the packet, from 1, at which to cancel; 0: none */
};

static bool keep_relative(void *user, const struct carry_capture_packet *packet) {
    struct relatives *relatives = user;
    struct carry_capture_packet *kept = &relatives->packets[relatives->count];
    *kept = *packet;
    kept->data = memcpy(relatives->data[relatives->count++], packet->data, packet->captured);
    return relatives->count != relatives->cancels_at;
}

/* Counts of summaries, added up. */
struct sums {
    int64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    int64_t reasons[CARRY_PROTOCOL_COUNT][CARRY_REASON_COUNT];
    int64_t causes[CARRY_PROTOCOL_COUNT][CARRY_CAPTURE_CAUSE_COUNT];
    int64_t packets, bytes, without;
};

static void add_up(struct sums *sums, const struct carry_capture_summary *summary, int sign) {
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        for (unsigned i = 0; i < CARRY_VERDICT_COUNT; i++)
            sums->counts[protocol][i] += sign * (int64_t)carry_capture_count(summary, protocol, i);
        for (unsigned i = 0; i < CARRY_REASON_COUNT; i++)
            sums->reasons[protocol][i] +=
                sign * (int64_t)carry_capture_reason_count(summary, protocol, i);
        for (unsigned i = 0; i < CARRY_CAPTURE_CAUSE_COUNT; i++)
            sums->causes[protocol][i] +=
                sign * (int64_t)carry_capture_cause_count(summary, protocol, i);
    }
    sums->packets += sign * (int64_t)totals->packets;
    sums->bytes += sign * (int64_t)totals->bytes;
    sums->without += sign * (int64_t)totals->without;
}

/*
 * Checks the packets of a capture from number `from` up to, but not including, number `to`. Adds
 * the counts to `sums`, and the related packets to `relatives`.
 */
static void add_part(struct sums *sums, const struct bytes *bytes, struct relatives *relatives,
                     uint64_t from, uint64_t to) {
    const struct carry_capture_check_options options = {
        .alone = true, .related = keep_relative, .user = relatives};
    struct carry_capture_summary *summary = carry_capture_summary_create();
    struct carry_capture_checker *checker;
    const struct carry_capture_packet *packet;
    struct feed feed = feed_of(bytes);
    struct carry_capture *capture = open_feed(&feed);
    carry_capture_checker_create(&options, &checker);
    carry_capture_checker_begin(checker, summary);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET)
        if (packet->number >= from && packet->number < to)
            carry_capture_checker_add(checker, packet, 1);
    carry_capture_checker_end(checker);
    add_up(sums, summary, 1);
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
}

static void add_relatives(struct sums *sums, const struct relatives *relatives, bool alone,
                          int sign) {
    const struct carry_capture_check_options options = {.alone = alone};
    struct carry_capture_summary *summary = carry_capture_summary_create();
    struct carry_capture_checker *checker;
    carry_capture_checker_create(&options, &checker);
    carry_capture_checker_begin(checker, summary);
    carry_capture_checker_add(checker, relatives->packets, relatives->count);
    carry_capture_checker_end(checker);
    add_up(sums, summary, sign);
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
}

static void test_parts(const struct bytes *bytes) {
    struct carry_capture_summary *summary;
    struct sums whole = {0};
    bool ok = TAP_EQ(check_bytes(bytes, NULL, &summary), CARRY_OK);
    add_up(&whole, summary, 1);
    carry_capture_summary_free(summary);
    for (uint64_t cut = 1; cut <= CAPTURE_PACKETS + 1 && ok; cut++) {
        struct relatives relatives = {.count = 0};
        struct sums sums = {0};
        add_part(&sums, bytes, &relatives, 1, cut);
        add_part(&sums, bytes, &relatives, cut, CAPTURE_PACKETS + 1);
        add_relatives(&sums, &relatives, true, -1);
        add_relatives(&sums, &relatives, false, 1);
        ok = TAP_MEMEQ(&sums, &whole, sizeof sums);
    }
    tap_ok(ok, "parts add up to the whole, after related packets were judged together");
}

static void test_alone(const struct bytes *bytes) {
    static const uint64_t related[] = {2, 3, 5, 6, 7, 9};
    struct relatives relatives = {.count = 0};
    struct carry_capture_check_options options = {
        .alone = true, .related = keep_relative, .kept = 9, .threads = 2, .user = &relatives};
    struct carry_capture_summary *summary;
    bool ok = TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_OK) &&
              TAP_EQ(relatives.count, sizeof related / sizeof *related);
    for (unsigned i = 0; i < relatives.count && ok; i++)
        ok = TAP_EQ(relatives.packets[i].number, related[i]);
    tap_ok(ok, "packets that are related to others are reported");
    tap_ok(TAP_EQ(carry_capture_kept(summary, 0)->number, 4) &&
               TAP_TRUE(!carry_capture_kept(summary, 1)),
           "findings of related packets are left out");
    carry_capture_summary_free(summary);
    options.related = NULL;
    check_bytes(bytes, &options, &summary);
    tap_ok(TAP_EQ(carry_capture_count(summary, IP, CARRY_VERDICT_BAD), 1) &&
               TAP_EQ(carry_capture_cause_count(summary, IP, CARRY_CAPTURE_CAUSE_ZERO), 1) &&
               TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_UNVERIFIABLE), 2) &&
               TAP_TRUE(!carry_capture_totals(summary)->reassembled) &&
               TAP_EQ(carry_capture_kept(summary, 0)->number, 2) &&
               TAP_EQ(carry_capture_kept(summary, 2)->number, 6),
           "packets that are judged separately are right");
    carry_capture_summary_free(summary);
    relatives = (struct relatives){.cancels_at = 3};
    options.related = keep_relative;
    ok = TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_ERROR_CANCELLED) &&
         TAP_EQ(relatives.count, 3);
    carry_capture_summary_free(summary);
    options.alone = false;
    relatives.count = 0;
    ok &= check_bytes(bytes, &options, &summary) == CARRY_OK && !relatives.count;
    carry_capture_summary_free(summary);
    tap_ok(ok, "the check can be cancelled at a related packet; without `alone` there is none");
}

/* --- Progress of reading --- */

struct reader {
    const struct carry_capture *capture;
    uint64_t offset, descriptions;
};

static bool read_on(void *user, const struct carry_capture_progress *progress) {
    struct reader *reader = user;
    (void)progress;
    reader->offset = carry_capture_offset(reader->capture);
    reader->descriptions = carry_capture_descriptions(reader->capture);
    return true;
}

static void test_offset(const struct bytes *bytes) {
    struct bytes packed = make_gzip(bytes);
    struct feed feed = feed_of(&packed);
    struct carry_capture *capture = open_feed(&feed);
    struct reader reader = {.capture = capture};
    const struct carry_capture_check_options options = {.progress = read_on, .user = &reader};
    struct carry_capture_summary *summary;
    bool ok =
        TAP_EQ(carry_capture_offset(capture), 0) && TAP_EQ(carry_capture_descriptions(capture), 0);
    const int result = carry_capture_check(capture, &options, &summary);
    if (result == CARRY_ERROR_UNRECOGNISED) {
        tap_skip("how far it was read", "built without what unpacks gzip");
    } else {
        ok &= result == CARRY_OK && reader.offset == bytes->size &&
              carry_capture_position(capture) == packed.size;
        tap_ok(ok, "unpacked bytes are counted");
        tap_ok(TAP_EQ(reader.descriptions, 3), "a section and two interfaces: %llu",
               (unsigned long long)reader.descriptions);
        carry_capture_rewind(capture);
        tap_ok(TAP_EQ(carry_capture_offset(capture), 0) &&
                   TAP_EQ(carry_capture_descriptions(capture), 0),
               "rewound");
    }
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    bytes_free(&packed);
}

/* --- Threads, pieces, cuts --- */

static bool is_same(const struct carry_capture_summary *a, const struct carry_capture_summary *b) {
    bool same = memcmp(carry_capture_totals(a), carry_capture_totals(b),
                       sizeof *carry_capture_totals(a)) == 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            same &= carry_capture_count(a, protocol, verdict) ==
                    carry_capture_count(b, protocol, verdict);
    return same;
}

static void test_threads(const struct bytes *bytes, unsigned copies) {
    struct heard alone = {0};
    struct carry_capture_check_options options = options_for(&alone, 1);
    struct carry_capture_summary *one, *many;
    bool ok = check_bytes(bytes, &options, &one) == CARRY_OK && alone.count == 6 * copies &&
              alone.is_ordered;
    for (uint32_t threads = 2; threads <= 8 && ok; threads++) {
        struct heard heard = {0};
        options = options_for(&heard, threads);
        ok =
            TAP_EQ(check_bytes(bytes, &options, &many), CARRY_OK) &&
            TAP_EQ(heard.count, alone.count) && TAP_TRUE(heard.is_ordered) &&
            TAP_TRUE(is_same(one, many)) &&
            TAP_MEMEQ(&heard.findings[7].sum, &alone.findings[7].sum, sizeof alone.findings[7].sum);
        carry_capture_summary_free(many);
    }
    carry_capture_summary_free(one);
    tap_ok(ok, "any number of threads has the same findings in the same order");
}

/* The bytes arrive in pieces with pauses, in which progress is reported. */
static void test_pieces(const struct bytes *bytes, size_t stride) {
    bool ok = true;
    for (size_t piece = 1; piece < bytes->size && ok; piece += stride) {
        struct heard heard = {0};
        const struct carry_capture_check_options options = options_for(&heard, 2);
        struct feed feed = feed_of(bytes);
        struct carry_capture_summary *summary;
        feed.piece = piece;
        feed.idles = 3;
        struct carry_capture *capture = open_feed(&feed);
        ok = TAP_EQ(carry_capture_check(capture, &options, &summary), CARRY_OK) &&
             TAP_EQ(heard.count, 6) && TAP_GE(heard.progresses, 4);
        carry_capture_summary_free(summary);
        carry_capture_close(capture);
    }
    tap_ok(ok, "pieces of any size give the same findings");
}

/* The packets of the findings, by number. */
static const unsigned found_in[] = {2, 3, 3, 4, 6, 7};

static void test_cuts(const struct bytes *bytes, size_t stride) {
    bool ok = true;
    for (size_t size = 0; size < bytes->size && ok; size += stride) {
        struct heard heard = {0};
        const struct carry_capture_check_options options = options_for(&heard, 1);
        const struct bytes cut = {bytes->data, size};
        struct carry_capture_summary *summary;
        int code = check_bytes(&cut, &options, &summary);
        const uint64_t packets = carry_capture_totals(summary)->packets;
        unsigned expected = 0;
        for (unsigned i = 0; i < sizeof found_in / sizeof *found_in; i++)
            expected += found_in[i] <= packets;
        ok = TAP_TRUE(code == CARRY_OK || code == CARRY_ERROR_DAMAGED ||
                      (!size && code == CARRY_ERROR_UNRECOGNISED)) &&
             TAP_EQ(heard.count, expected) && TAP_EQ(packets, heard.last_packets);
        carry_capture_summary_free(summary);
    }
    tap_ok(ok, "a capture cut at any byte yields the findings before the cut");
}

static void test_failing_reads(const struct bytes *bytes, size_t stride) {
    bool ok = true;
    for (size_t at = 0; at < bytes->size && ok; at += stride) {
        struct feed feed = feed_of(bytes);
        struct carry_capture_summary *summary;
        feed.piece = 16;
        feed.fails_at = at;
        feed.error = EIO;
        struct carry_capture *capture = open_feed(&feed);
        ok = TAP_EQ(carry_capture_check(capture, NULL, &summary), CARRY_ERROR_READ) &&
             TAP_EQ(carry_capture_last_error(capture)->system, EIO) && TAP_TRUE(summary);
        carry_capture_summary_free(summary);
        carry_capture_close(capture);
    }
    tap_ok(ok, "a failed read returns its error, and the findings before");
}

/* --- Cancellation --- */

static void test_cancelled(const struct bytes *bytes) {
    bool ok = true;
    for (unsigned at = 1; at <= 6 && ok; at++) {
        struct heard heard = {.cancels_at = at};
        const struct carry_capture_check_options options = options_for(&heard, 2);
        struct carry_capture_summary *summary;
        ok = TAP_EQ(check_bytes(bytes, &options, &summary), CARRY_ERROR_CANCELLED) &&
             TAP_EQ(heard.count, at) && TAP_TRUE(summary);
        carry_capture_summary_free(summary);
    }
    tap_ok(ok, "after cancellation at any finding, no other one follows");
    bool cancelled = true;
    for (unsigned at = 1; cancelled && ok; at++) {
        struct heard heard = {.progress_cancels_at = at};
        const struct carry_capture_check_options options = options_for(&heard, 2);
        struct carry_capture_summary *summary;
        int code = check_bytes(bytes, &options, &summary);
        cancelled = heard.progresses >= at;
        ok = TAP_EQ(code, cancelled ? CARRY_ERROR_CANCELLED : CARRY_OK) &&
             TAP_EQ(heard.progresses, cancelled ? at : heard.progresses);
        carry_capture_summary_free(summary);
    }
    tap_ok(ok, "a check can be cancelled at each report of progress");
}

/* A capture that contains only blocks without packets is read, and the check can be cancelled. */
static void test_skipped(void) {
    struct bytes bytes = make_skipped(3000000);
    struct heard whole = {0}, cut = {.progress_cancels_at = 3};
    struct carry_capture_check_options options = options_for(&whole, 2);
    struct carry_capture_summary *summary;
    bool ok =
        TAP_EQ(check_bytes(&bytes, &options, &summary), CARRY_OK) && TAP_GT(whole.progresses, 20);
    carry_capture_summary_free(summary);
    options = options_for(&cut, 2);
    struct feed feed = feed_of(&bytes);
    struct carry_capture *capture = open_feed(&feed);
    ok &= carry_capture_check(capture, &options, &summary) == CARRY_ERROR_CANCELLED &&
          cut.progresses == 3 && feed.at < bytes.size / 2;
    carry_capture_close(capture);
    carry_capture_summary_free(summary);
    bytes_free(&bytes);
    tap_ok(ok, "progress is reported, and cancellation works, where there are no packets");
}

/* --- Without memory --- */

static void test_allocations(const struct bytes *bytes) {
    bool ok = true, done = false;
    const long before = allocations_alive();
    for (unsigned number = 1; !done && ok; number++) {
        struct heard heard = {0};
        const struct carry_capture_check_options options = options_for(&heard, 2);
        struct carry_capture_summary *summary;
        allocations_fail_from(number);
        int code = check_bytes(bytes, &options, &summary);
        done = allocations_count() < number;
        allocations_fail_from(0);
        /*
         * Some allocations may fail without an error: those for senders of headers, for threads,
         * and for datagrams, which are then not reassembled.
         */
        ok = done ? code == CARRY_OK : code == CARRY_ERROR_MEMORY || (code == CARRY_OK && summary);
        carry_capture_summary_free(summary);
        ok &= allocations_alive() == before;
        if (!ok)
            tap_note("allocation %u: %d, %ld alive", number, code, allocations_alive() - before);
    }
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(done),
           "if any allocation fails, the result is an error or less detail, and no memory is lost");
}

/* After a failed allocation, whatever it was for, the rest of the capture is not read. */
static void test_read_without_memory(void) {
    struct bytes bytes = make_long_capture(300);
    int code = CARRY_ERROR_MEMORY;
    bool ok = true;
    for (unsigned number = 1; code != CARRY_OK && ok; number++) {
        const struct carry_capture_check_options options = {.threads = 1, .no_reassembly = true};
        struct carry_capture_summary *summary;
        struct feed feed = feed_of(&bytes);
        struct carry_capture *capture = open_feed(&feed);
        allocations_fail_from(number);
        code = carry_capture_check(capture, &options, &summary);
        allocations_fail_from(0);
        ok = code == CARRY_OK || (code == CARRY_ERROR_MEMORY && feed.at < bytes.size);
        carry_capture_summary_free(summary);
        carry_capture_close(capture);
    }
    bytes_free(&bytes);
    tap_ok(ok, "without memory, a capture is not read to its end");
}

#define REPEATED 100 /* more bad sums than the initial size of a batch */

/* Adds a packet with a bad sum REPEATED times, in one call. */
static int add_many(struct carry_capture_checker *checker,
                    const struct carry_capture_packet *packet) {
    struct carry_capture_packet packets[REPEATED];
    for (unsigned i = 0; i < REPEATED; i++) {
        packets[i] = *packet;
        packets[i].number = i + 1;
    }
    return carry_capture_checker_add(checker, packets, REPEATED);
}

/*
 * Calls add_many() twice, with a summary that may have been used before. Returns the result of both
 * calls, or 1 if the results differ or packets are counted wrongly.
 */
static int add_again(const struct carry_capture_packet *packet,
                     struct carry_capture_checker *checker, struct carry_capture_summary *summary) {
    int code = carry_capture_checker_begin(checker, summary);
    if (code != CARRY_OK)
        return code;
    code = add_many(checker, packet);
    const uint64_t packets = carry_capture_totals(summary)->packets;
    if (add_many(checker, packet) != code ||
        carry_capture_totals(summary)->packets != (code ? packets : 2 * REPEATED))
        code = 1;
    carry_capture_checker_end(checker);
    return code;
}

static void test_added_allocations(const struct bytes *bytes) {
    const struct carry_capture_check_options options = {.threads = 1, .kept = 3};
    struct carry_capture_summary *summary = carry_capture_summary_create();
    const struct carry_capture_packet *packet;
    struct carry_capture_checker *checker;
    struct carry_capture *capture;
    bool ok = true, done = false;
    unsigned refused = 0;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET && packet->number < 2)
        continue;
    for (unsigned number = 0; !done && ok; number++) {
        carry_capture_checker_create(&options, &checker);
        allocations_fail_from(number);
        const int code = add_again(packet, checker, summary);
        done = number && allocations_count() < number;
        allocations_fail_from(0);
        refused += code == CARRY_ERROR_MEMORY;
        ok = code == CARRY_OK || (code == CARRY_ERROR_MEMORY && !done);
        carry_capture_checker_free(checker);
    }
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(done) && TAP_GT(refused, 1),
           "an error of adding packets is final");
    carry_capture_checker_create(&options, &checker);
    allocations_fail_from(1);
    ok = carry_capture_checker_begin(checker, summary) == CARRY_ERROR_MEMORY;
    allocations_fail_from(0);
    tap_ok(TAP_TRUE(ok) &&
               TAP_EQ(carry_capture_checker_add(checker, packet, 1), CARRY_ERROR_INVALID),
           "nothing can be added after begin failed for lack of memory");
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
}

/* --- A judge --- */

struct judge {
    atomic_uint opened, closed, judged;
    bool says_bad;
};

static void *open_judge(void *user) {
    ((struct judge *)user)->opened++;
    return user;
}

static void close_judge(void *user, void *state) {
    struct judge *judge = user;
    judge->closed += state == user;
}

static bool prepare_checker(void *state, const struct carry_capture_packet *packets, size_t count) {
    (void)state;
    return packets->number && count;
}

/* Judges only TCP over IPv4 without fragments. */
static int judge_frame(void *state, const struct carry_frame *frame,
                       struct carry_packet_sum *sums) {
    struct judge *judge = state;
    struct carry_packet_fragment fragment;
    size_t count = carry_packet_check_fragment(frame, NULL, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    if (count != 2 || fragment.version || sums[1].protocol != TCP)
        return -1;
    judge->judged++;
    if (judge->says_bad)
        sums[1].verdict = CARRY_VERDICT_BAD;
    return (int)count;
}

static void test_judge(const struct bytes *bytes, unsigned copies) {
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        struct judge own = {.says_bad = true};
        const struct carry_capture_judge judge = {.open = open_judge,
                                                  .close = close_judge,
                                                  .prepare = prepare_checker,
                                                  .check = judge_frame,
                                                  .user = &own};
        const struct carry_capture_check_options options = {.threads = threads, .judge = &judge};
        struct carry_capture_summary *summary;
        int code = check_bytes(bytes, &options, &summary);
        tap_ok(TAP_EQ(code, CARRY_OK) && TAP_EQ(own.judged, 4 * copies) && TAP_GE(own.opened, 1) &&
                   TAP_LE(own.opened, threads) && TAP_EQ(own.opened, own.closed) &&
                   TAP_EQ(carry_capture_count(summary, TCP, CARRY_VERDICT_BAD), 4 * copies) &&
                   TAP_EQ(carry_capture_count(summary, UDP, CARRY_VERDICT_ILLEGAL), copies),
               "each of %u threads calls the judge first, and believes it", threads);
        carry_capture_summary_free(summary);
    }
}

/* A judge that lacks one of its functions is refused. */
static void test_incomplete_judge(const struct bytes *bytes) {
    bool ok = true;
    for (unsigned lacks = 0; lacks < 4; lacks++) {
        const struct carry_capture_judge judge = {.open = lacks == 0 ? NULL : open_judge,
                                                  .close = lacks == 1 ? NULL : close_judge,
                                                  .prepare = lacks == 2 ? NULL : prepare_checker,
                                                  .check = lacks == 3 ? NULL : judge_frame};
        const struct carry_capture_check_options options = {.judge = &judge};
        struct carry_capture_summary *summary;
        ok &= check_bytes(bytes, &options, &summary) == CARRY_ERROR_INVALID;
        carry_capture_summary_free(summary);
    }
    tap_ok(ok, "a judge without one of its functions is refused");
}

/* --- Many captures --- */

static void test_checker(const struct bytes *bytes, const struct bytes *long_one, unsigned copies) {
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary = carry_capture_summary_create();
    const struct carry_capture_check_options options = {.threads = 3, .kept = 5};
    bool ok = TAP_EQ(carry_capture_checker_create(&options, &checker), CARRY_OK);
    for (unsigned i = 0; i < 6 && ok; i++) {
        const struct bytes *present = i % 2 ? long_one : bytes;
        struct carry_capture *capture;
        carry_capture_open_memory(present->data, present->size, &capture, NULL);
        ok = TAP_EQ(carry_capture_checker_run(checker, capture, summary), CARRY_OK) &&
             TAP_EQ(carry_capture_total(summary, ~0u), (i % 2 ? copies : 1) * UINT64_C(14));
        carry_capture_close(capture);
    }
    tap_ok(ok, "one checker checks many captures, one after the other");
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
}

/* --- Packets that are added one by one --- */

/* Adds all packets of a capture, at most `count` at a time. */
static int add_all(struct carry_capture_checker *checker, const struct bytes *bytes, size_t count) {
    struct carry_capture_packet packets[CAPTURE_PACKETS];
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    size_t waiting = 0;
    int code = CARRY_OK;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (code == CARRY_OK && carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        packets[waiting++] = *packet;
        if (waiting == count || packet->number == CAPTURE_PACKETS)
            code = carry_capture_checker_add(checker, packets, waiting);
        waiting %= count;
    }
    carry_capture_close(capture);
    return code;
}

static bool is_found_twice(const struct heard *a, const struct heard *b) {
    bool same = a->count == b->count;
    for (unsigned i = 0; i < a->count && same; i++)
        same = a->findings[i].number == b->findings[i].number &&
               a->findings[i].sum.verdict == b->findings[i].sum.verdict &&
               a->findings[i].sum.protocol == b->findings[i].sum.protocol;
    return same;
}

/* Tests packets whose bytes remain valid in the source's buffer, because the capture is small. */
static void test_added(const struct bytes *bytes) {
    struct heard read = {0}, heard = {0};
    struct carry_capture_check_options options = options_for(&read, 1);
    struct carry_capture_summary *summary, *whole;
    struct carry_capture_checker *checker;
    check_bytes(bytes, &options, &whole);
    options = options_for(&heard, 1);
    summary = carry_capture_summary_create();
    carry_capture_checker_create(&options, &checker);
    for (size_t count = 1; count <= CAPTURE_PACKETS; count += 3) {
        heard.count = 0;
        bool ok = carry_capture_checker_begin(checker, summary) == CARRY_OK &&
                  add_all(checker, bytes, count) == CARRY_OK;
        ok &= carry_capture_totals(summary)->packets == CAPTURE_PACKETS &&
              carry_capture_count(summary, TCP, CARRY_VERDICT_BAD) == 1;
        ok &= carry_capture_checker_end(checker) == CARRY_OK;
        for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
            for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
                ok &= carry_capture_count(summary, protocol, verdict) ==
                      carry_capture_count(whole, protocol, verdict);
        tap_ok(
            TAP_TRUE(ok) && TAP_TRUE(is_found_twice(&read, &heard)) &&
                TAP_EQ(carry_capture_reassembly_count(summary, CARRY_CAPTURE_REASSEMBLY_COMPLETE),
                       1),
            "packets added by %zu are judged as those of a capture", count);
    }
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
    carry_capture_summary_free(whole);
}

static void test_order_of_adding(const struct bytes *bytes) {
    struct heard heard = {.cancels_at = 2};
    const struct carry_capture_check_options options = options_for(&heard, 1);
    struct carry_capture_summary *summary = carry_capture_summary_create();
    struct carry_capture_checker *checker;
    carry_capture_checker_create(&options, &checker);
    tap_ok(TAP_EQ(carry_capture_checker_add(checker, NULL, 0), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_checker_end(checker), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_checker_begin(checker, summary), CARRY_OK) &&
               TAP_EQ(carry_capture_checker_begin(checker, summary), CARRY_ERROR_INVALID),
           "functions called in another order than begin, add, end fail");
    tap_ok(TAP_EQ(add_all(checker, bytes, 1), CARRY_ERROR_CANCELLED) && TAP_EQ(heard.count, 2) &&
               TAP_EQ(add_all(checker, bytes, 1), CARRY_ERROR_CANCELLED) && TAP_EQ(heard.count, 2),
           "after cancellation, added packets are not judged");
    carry_capture_checker_free(checker); /* carry_capture_checker_end() was not called */
    carry_capture_summary_free(summary);
}

static bool is_said_left(const struct heard *heard) {
    for (unsigned i = 0; i < heard->count; i++)
        if (heard->findings[i].reassembled)
            return heard->findings[i].cause == CARRY_CAPTURE_CAUSE_SAID_LEFT;
    return false;
}

/* A flag for a sum left to the network card applies to a frame, not to the reassembled datagram. */
static void test_left_in_fragments(const struct bytes *bytes) {
    struct heard heard = {0};
    const struct carry_capture_check_options options = options_for(&heard, 1);
    struct carry_capture_summary *summary = carry_capture_summary_create();
    struct carry_capture_checker *checker;
    struct carry_capture *capture;
    const struct carry_capture_packet *packet;
    carry_capture_checker_create(&options, &checker);
    carry_capture_checker_begin(checker, summary);
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        struct carry_capture_packet left = *packet;
        left.flags = CARRY_CAPTURE_PACKET_SUM_LEFT;
        left.left_from = 34;
        left.left_at = 40;
        carry_capture_checker_add(checker, &left, 1);
    }
    tap_ok(is_said_left(&heard), "the offset of a sum in a frame is not applied to its datagram");
    carry_capture_close(capture);
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
}

int main(void) {
    const struct effort *effort = effort_chosen();
    const unsigned copies = effort->dense_size > 1000 ? 4000 : 1500;
    struct bytes bytes = make_capture(CARRY_CAPTURE_FORMAT_PCAPNG);
    struct bytes long_one = make_long_capture(copies);
    effort_note(effort);
    test_counts(&bytes);
    test_senders(&bytes);
    test_merged(&bytes);
    test_findings(&bytes);
    test_early();
    test_selection(&bytes);
    test_kept(&bytes);
    test_timeline(&bytes, &long_one);
    test_tunnel();
    test_times(&long_one, copies);
    test_parts(&bytes);
    test_alone(&bytes);
    test_offset(&bytes);
    test_threads(&long_one, copies);
    test_pieces(&bytes, effort->stride);
    test_cuts(&bytes, effort->stride);
    test_failing_reads(&bytes, effort->stride);
    test_cancelled(&bytes);
    test_skipped();
    test_allocations(&bytes);
    test_read_without_memory();
    test_added_allocations(&bytes);
    test_judge(&long_one, copies);
    test_incomplete_judge(&bytes);
    test_checker(&bytes, &long_one, copies);
    test_added(&bytes);
    test_order_of_adding(&bytes);
    test_left_in_fragments(&bytes);
    bytes_free(&bytes);
    bytes_free(&long_one);
    return tap_done();
}
