/* SPDX-License-Identifier: MIT */
#include "harness/check_pieces.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format.h"
#include "harness/tap.h"

const size_t piece_sizes[PIECE_SIZES] = {1, 60, 171, 500, 1000, 4096, 10001};

uint64_t add_digest(uint64_t digest, uint64_t value) {
    return (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static bool take_finding(void *user, const struct carry_capture_finding *finding) {
    uint64_t *digest = user;
    const struct carry_capture_packet *packet = finding->packet;
    const uint64_t values[] = {finding->sum.protocol, finding->sum.verdict, finding->sum.stored,
                               finding->sum.expected, finding->cause,       finding->number,
                               finding->time_ns,      finding->offset,      finding->certainty,
                               finding->early,        packet->offset,       packet->captured};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *digest = add_digest(*digest, values[i]);
    for (uint32_t i = 0; i < packet->captured; i++)
        *digest = add_digest(*digest, packet->data[i]);
    return true;
}

static void *open_judge(void *user) {
    return user;
}

static void close_judge(void *user, void *state) {
    (void)user, (void)state;
}

static bool prepare_judge(void *state, const struct carry_capture_packet *packets, size_t count) {
    (void)state, (void)packets, (void)count;
    return true;
}

static int leave_to_library(void *state, const struct carry_frame *frame,
                            struct carry_packet_sum *sums) {
    (void)state, (void)frame, (void)sums;
    return -1;
}

const struct carry_capture_judge lax_judge = {.open = open_judge,
                                              .close = close_judge,
                                              .prepare = prepare_judge,
                                              .check = leave_to_library,
                                              .user = (void *)&lax_judge};

int make_file(const struct bytes *bytes) {
    int descriptor = memfd_create("capture", 0);
    if (descriptor < 0 || write(descriptor, bytes->data, bytes->size) != (ssize_t)bytes->size ||
        lseek(descriptor, 0, SEEK_SET))
        abort();
    return descriptor;
}

struct carry_capture *open_bytes(const struct bytes *bytes, const struct how *how,
                                 struct feed *feed, int *descriptor) {
    struct carry_capture *capture;
    *descriptor = -1;
    *feed = feed_of(bytes);
    if (how->way == MAPPED) {
        *descriptor = make_file(bytes);
        carry_capture_open_fd(*descriptor, &capture, NULL);
        carry_capture_map(capture);
    } else if (how->way == MEMORY) {
        carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    } else {
        capture = open_feed(feed);
    }
    capture->piece_bytes = how->piece;
    return capture;
}

static void take_summary(struct found *found, const struct carry_capture_summary *summary) {
    found->totals = *carry_capture_totals(summary);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            found->counts[protocol][verdict] = carry_capture_count(summary, protocol, verdict);
        for (unsigned cause = 0; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++)
            found->causes[protocol][cause] = carry_capture_cause_count(summary, protocol, cause);
    }
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++)
        found->reassembly[i] = carry_capture_reassembly_count(summary, i);
}

void check_capture(struct carry_capture *capture, const struct how *how, struct found *found) {
    const struct carry_capture_check_options options = {
        .threads = how->threads,
        .listed = CARRY_CAPTURE_FINDING_VERDICTS,
        .judge = how->judges ? &lax_judge : NULL,
        .alone = how->alone,
        .finding = take_finding,
        .user = &found->digest,
    };
    struct carry_capture_summary *summary;
    const struct carry_capture_packet *packet;
    found->code = carry_capture_check(capture, &options, &summary);
    take_summary(found, summary);
    found->digest = add_digest(found->digest, (uint64_t)carry_capture_next(capture, &packet));
    found->error = *carry_capture_last_error(capture);
    found->offset = carry_capture_offset(capture);
    found->descriptions = carry_capture_descriptions(capture);
    carry_capture_summary_free(summary);
}

struct found check_bytes(const struct bytes *bytes, const struct how *how) {
    struct found found;
    struct feed feed;
    int descriptor;
    memset(&found, 0, sizeof found); /* found by memcmp(), padding included */
    struct carry_capture *capture = open_bytes(bytes, how, &feed, &descriptor);
    check_capture(capture, how, &found);
    carry_capture_close(capture);
    if (descriptor >= 0)
        close(descriptor);
    return found;
}

bool is_same_in_all_ways(const struct bytes *bytes, size_t piece, bool alone) {
    const struct how read = {READ, PIECE_BYTES, 1, false, alone};
    const struct found expected = check_bytes(bytes, &read);
    bool same = true;
    for (enum way way = MEMORY; way <= MAPPED; way++)
        for (unsigned threads = 1; threads <= 4 && same; threads += threads) {
            const struct how how = {way, piece, threads, threads == 2 && piece % 2, alone};
            const struct found found = check_bytes(bytes, &how);
            same = TAP_EQ(found.code, expected.code) &&
                   TAP_STREQ(found.error.text, expected.error.text) &&
                   TAP_EQ(found.totals.packets, expected.totals.packets) &&
                   TAP_MEMEQ(&found, &expected, sizeof found);
        }
    return same;
}

bool is_same_in_pieces(const struct bytes *bytes, size_t piece) {
    return is_same_in_all_ways(bytes, piece, false) && is_same_in_all_ways(bytes, piece, true);
}
