/* SPDX-License-Identifier: MIT */
/*
 * Tests captures that are lent to the library as a whole, in memory or mapped, and checked in
 * pieces: the results are those of reading them, whatever the pieces, threads and damage; and files
 * that are truncated meanwhile.
 */
#include <carry/fault.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boundary.h"
#include "harness/captures.h"
#include "harness/check_pieces.h"
#include "harness/fault.h"
#include "harness/rng.h"
#include "harness/tap.h"
#include "loan.h"

#define COPIES 40

/* --- Boundaries --- */

/* Checks that, from each offset, the next record is found that begins there or later. */
static bool finds_records(const struct bytes *bytes, uint32_t header) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    size_t from = 24; /* behind the header of a file or section */
    bool ok = true;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    while (ok && carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET) {
        const size_t record = packet->offset - header;
        for (; from <= record && ok; from++)
            ok = TAP_EQ(carry_boundary_find(capture, bytes->data, bytes->size, from), record);
    }
    ok = ok && TAP_GT(from, bytes->size / 2) &&
         TAP_EQ(carry_boundary_find(capture, bytes->data, bytes->size, from), SIZE_MAX);
    carry_capture_close(capture);
    return ok;
}

static void test_boundaries(void) {
    struct bytes pcap = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    struct bytes pcapng = make_repeated(CARRY_CAPTURE_FORMAT_PCAPNG, COPIES);
    const bool ok = finds_records(&pcap, 16) && finds_records(&pcapng, 28);
    tap_ok(ok, "the next record is found from any offset");
    bytes_free(&pcap);
    bytes_free(&pcapng);
}

/* Returns where a boundary is found in these bytes of a capture. */
static size_t find_boundary(enum carry_capture_format format, const uint8_t *bytes, size_t size) {
    struct bytes one = make_repeated(format, 1);
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    carry_capture_open_memory(one.data, one.size, &capture, NULL);
    carry_capture_next(capture, &packet);
    const size_t found = carry_boundary_find(capture, bytes, size, 0);
    carry_capture_close(capture);
    bytes_free(&one);
    return found;
}

/* Searches a block of pcapng whose body is zeros. If it gives a size that it cannot have, it has
   40 bytes. */
static size_t find_block(uint32_t type, uint32_t size, uint32_t tail) {
    uint32_t block[10] = {type, size};
    uint8_t bytes[sizeof block];
    const bool fits = size > 8 && size <= sizeof bytes;
    memcpy(bytes, block, sizeof bytes);
    if (fits)
        memcpy(bytes + size - 4, &tail, 4);
    return find_boundary(CARRY_CAPTURE_FORMAT_PCAPNG, bytes, fits ? size : sizeof bytes);
}

static void test_blocks(void) {
    enum { OLD = 2, SIMPLE, STATISTICS = 5, ENHANCED };
    tap_ok(TAP_EQ(find_block(ENHANCED, 40, 40), 0) && TAP_EQ(find_block(SIMPLE, 40, 40), 0) &&
               TAP_EQ(find_block(OLD, 40, 40), 0),
           "a block of a packet is a boundary");
    tap_ok(TAP_EQ(find_block(STATISTICS, 40, 40), SIZE_MAX) &&
               TAP_EQ(find_block(ENHANCED, 38, 38), SIZE_MAX) &&
               TAP_EQ(find_block(ENHANCED, 8, 8), SIZE_MAX) &&
               TAP_EQ(find_block(ENHANCED, 44, 0), SIZE_MAX) &&
               TAP_EQ(find_block(ENHANCED, UINT32_MAX - 3, 0), SIZE_MAX) &&
               TAP_EQ(find_block(ENHANCED, 40, 36), SIZE_MAX),
           "other blocks are none, nor are sizes that no block has or that differ");
}

/* Puts records of pcap with one byte each. Returns their end. */
static size_t put_records(struct bytes *bytes, unsigned count) {
    const uint32_t header[] = {1000000000, 0, 1, 1};
    for (unsigned i = 0; i < count; i++) {
        memcpy(bytes->data + bytes->size, header, sizeof header);
        bytes->data[bytes->size + sizeof header] = 0xff;
        bytes->size += sizeof header + 1;
    }
    return bytes->size;
}

/* Many chains that are too short are before one that is long enough. */
static bool finds_behind(unsigned chains) {
    struct bytes bytes = {calloc(chains + 1, 300), 0};
    for (unsigned i = 0; i < chains; i++) {
        const size_t end = put_records(&bytes, 15);
        memset(bytes.data + end, 0xff, 16);
        bytes.size += 16;
    }
    const size_t last = bytes.size;
    put_records(&bytes, 16);
    const size_t found = find_boundary(CARRY_CAPTURE_FORMAT_PCAP, bytes.data, bytes.size);
    bytes_free(&bytes);
    return found == last;
}

static void test_search(void) {
    tap_ok(TAP_TRUE(finds_behind(1)) && TAP_TRUE(finds_behind(30)) && TAP_TRUE(!finds_behind(40)),
           "the search for a boundary ends after many records");
}

/* --- Captures --- */

static void test_formats(void) {
    for (unsigned format = CARRY_CAPTURE_FORMAT_PCAP; format <= CARRY_CAPTURE_FORMAT_PCAPNG;
         format++) {
        struct bytes bytes = make_repeated(format, COPIES);
        bool ok = true;
        for (size_t i = 0; i < PIECE_SIZES && ok; i++)
            ok = is_same_in_pieces(&bytes, piece_sizes[i]);
        tap_ok(ok, "%s in pieces", carry_capture_format_name(format));
        bytes_free(&bytes);
    }
}

/* Appends a capture of `count` packets, each of `size` zeros. */
static void append_zeros(struct bytes *into, uint32_t count, uint32_t size) {
    const uint32_t header[] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 1u << 18, 101};
    const uint32_t record[] = {1000000000, 0, size, size};
    const size_t all = sizeof header + count * (sizeof record + size);
    uint8_t *end = into->data = calloc(1, all);
    if (!end)
        abort();
    into->size = all;
    memcpy(end, header, sizeof header);
    for (end += sizeof header; count; count--, end += sizeof record + size)
        memcpy(end, record, sizeof record);
}

/* A piece has more packets than there is room for, or the pieces more bytes than are given back at
   once. */
static void test_limits(void) {
    static const struct {
        uint32_t count, size;
        size_t piece;
    } cases[] = {{60000, 1, 500000}, {80000, 200, 1 << 20}};
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        struct bytes bytes = {NULL, 0};
        append_zeros(&bytes, cases[i].count, cases[i].size);
        ok &= is_same_in_all_ways(&bytes, cases[i].piece, true);
        bytes_free(&bytes);
    }
    tap_ok(ok, "captures with very many packets and bytes");
}

/* Each section describes its own interfaces. */
static void test_sections(void) {
    struct bytes section = make_long_capture(3), bytes = {0};
    for (unsigned i = 0; i < COPIES; i++)
        bytes_append(&bytes, section.data, section.size);
    const bool ok = is_same_in_pieces(&bytes, 700) && is_same_in_pieces(&bytes, 5000);
    tap_ok(ok, "pcapng with many sections");
    bytes_free(&section);
    bytes_free(&bytes);
}

/* The packets of the outer capture contain whole captures. */
static void test_captures_in_packets(void) {
    struct bytes inner = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, 4);
    struct bytes bytes = {0};
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, snaplen, linktype;
    } header = {0xa1b2c3d4, 2, 4, 0, 0, 1u << 18, 101};
    bytes_append(&bytes, &header, sizeof header);
    for (uint32_t i = 0; i < 3 * COPIES; i++) {
        const uint32_t size = (uint32_t)inner.size;
        const uint32_t record[] = {1000000000 + i, i, size, size};
        bytes_append(&bytes, record, sizeof record);
        bytes_append(&bytes, inner.data, inner.size);
    }
    const bool ok = is_same_in_pieces(&bytes, 1500) && is_same_in_pieces(&bytes, 40000);
    tap_ok(ok, "records in packets are no boundaries");
    bytes_free(&inner);
    bytes_free(&bytes);
}

/* Damages a few bytes, and truncates some captures. */
static void test_damage(unsigned rounds) {
    struct bytes whole[] = {make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES),
                            make_repeated(CARRY_CAPTURE_FORMAT_PCAPNG, COPIES)};
    bool ok = true;
    rng_restart();
    for (unsigned round = 0; round < rounds && ok; round++) {
        struct bytes bytes = {0};
        bytes_append(&bytes, whole[round % 2].data, whole[round % 2].size);
        for (unsigned i = 0; i < 1 + round % 3; i++)
            bytes.data[rng_below(bytes.size)] = (uint8_t)rng_next();
        if (round % 4 == 3)
            bytes.size = rng_below(bytes.size);
        ok = is_same_in_pieces(&bytes, piece_sizes[rng_below(PIECE_SIZES)]);
        bytes_free(&bytes);
    }
    tap_ok(ok, "damaged captures in pieces");
    bytes_free(&whole[0]);
    bytes_free(&whole[1]);
}

/* A few packets were read before, and others follow. */
static void test_begun(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    struct found found[3] = {{0}};
    for (enum way way = READ; way <= MAPPED; way++) {
        const struct how how = {way, 500, 2, false, true};
        const struct carry_capture_packet *packet;
        struct feed feed;
        int descriptor;
        struct carry_capture *capture = open_bytes(&bytes, &how, &feed, &descriptor);
        for (unsigned i = 0; i < 5; i++)
            carry_capture_next(capture, &packet);
        check_capture(capture, &how, &found[way]);
        carry_capture_close(capture);
        close(descriptor);
    }
    tap_ok(TAP_EQ(found[READ].totals.packets, CAPTURE_PACKETS * COPIES - 5) &&
               TAP_MEMEQ(&found[READ], &found[MEMORY], sizeof *found) &&
               TAP_MEMEQ(&found[READ], &found[MAPPED], sizeof *found),
           "a capture of which packets were read before");
    bytes_free(&bytes);
}

/* --- Without memory --- */

static bool count_finding(void *user, const struct carry_capture_finding *finding) {
    (void)finding;
    ++*(unsigned *)user;
    return true;
}

/* A capture that is checked in pieces in one thread, and how many findings that must have. */
struct scarce {
    const struct bytes *bytes;
    int descriptor; /* -1: the capture is in memory */
    bool judges;
    unsigned findings;
};

static int open_scarce(const struct scarce *scarce, struct carry_capture **capture) {
    if (scarce->descriptor < 0)
        return carry_capture_open_memory(scarce->bytes->data, scarce->bytes->size, capture, NULL);
    if (lseek(scarce->descriptor, 0, SEEK_SET))
        abort();
    return carry_capture_open_fd(scarce->descriptor, capture, NULL);
}

static int check_scarce(void *context) {
    const struct scarce *scarce = context;
    unsigned findings = 0;
    const struct carry_capture_check_options options = {.threads = 1,
                                                        .alone = true,
                                                        .judge = scarce->judges ? &lax_judge : NULL,
                                                        .finding = count_finding,
                                                        .user = &findings};
    struct carry_capture_summary *summary;
    struct carry_capture *capture;
    int code = open_scarce(scarce, &capture);
    if (code != CARRY_OK)
        return code;
    carry_capture_map(capture);
    capture->piece_bytes = 3000;
    code = carry_capture_check(capture, &options, &summary);
    if (code == CARRY_OK && findings != scarce->findings)
        code = 1;
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    return code;
}

static void test_allocations(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    const int descriptor = make_file(&bytes);
    bool ok = true;
    for (unsigned i = 0; i < 4 && ok; i++) {
        struct scarce scarce = {&bytes, i % 2 ? descriptor : -1, i / 2, 3 * COPIES};
        ok = allocations_all_fail(check_scarce, &scarce);
    }
    tap_ok(ok, "if any allocation fails, the result is an error or the same, no memory is lost");
    close(descriptor);
    bytes_free(&bytes);
}

/* --- Loans --- */

/* Checks whether all bytes of a capture are lent, and gives them back. */
static bool is_lent(struct carry_capture *capture) {
    struct loan loan;
    const bool lent = carry_loan_begin(&loan, capture);
    if (lent)
        carry_loan_end(&loan, capture, 0);
    return lent;
}

static struct carry_capture *open_mapped(int descriptor) {
    struct carry_capture *capture;
    if (carry_capture_open_fd(descriptor, &capture, NULL) != CARRY_OK)
        abort();
    carry_capture_map(capture);
    return capture;
}

/* Checks whether a file that a descriptor may stop is lent. */
static bool is_stoppable_lent(const struct bytes *bytes, int stop) {
    const int descriptor = make_file(bytes);
    struct carry_capture *capture = open_mapped(descriptor);
    carry_capture_stop_on(capture, stop);
    const bool lent = is_lent(capture);
    carry_capture_close(capture);
    close(descriptor);
    return lent;
}

/* Checks whether a file is lent that has `size` bytes when it is mapped, or that is closed then. */
static bool is_changed_lent(const struct bytes *bytes, off_t start, off_t size) {
    const int descriptor = make_file(bytes);
    lseek(descriptor, start, SEEK_SET);
    struct carry_capture *capture = open_mapped(descriptor);
    if (size < 0 ? close(descriptor) : ftruncate(descriptor, size))
        abort();
    const bool lent = is_lent(capture);
    carry_capture_close(capture);
    close(descriptor);
    return lent;
}

static void test_loans(bool survives) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    const off_t all = (off_t)bytes.size;
    int ends[2];
    if (pipe(ends))
        abort();
    struct carry_capture *piped = open_mapped(ends[0]);
    tap_ok(TAP_EQ(is_changed_lent(&bytes, 0, all), survives) &&
               TAP_EQ(is_changed_lent(&bytes, 30, 31), survives) &&
               TAP_TRUE(!is_changed_lent(&bytes, 30, 30)) &&
               TAP_TRUE(!is_changed_lent(&bytes, 0, -1)) &&
               TAP_TRUE(!is_stoppable_lent(&bytes, ends[0])) && TAP_TRUE(!is_lent(piped)),
           "files are mapped%s, but no pipes, nor files that may be stopped",
           survives ? "" : " only with recovery from faults");
    carry_capture_close(piped);
    close(ends[0]);
    close(ends[1]);
    bytes_free(&bytes);
}

/* Checks that the bytes that are given back are still there. */
static void test_dropped(void) {
    struct bytes bytes = {NULL, 0};
    append_zeros(&bytes, 400, 50000);
    const int descriptor = make_file(&bytes);
    struct carry_capture *capture = open_mapped(descriptor);
    struct loan loan;
    if (!carry_loan_begin(&loan, capture))
        abort();
    const size_t most = (size_t)8 << 20;
    carry_loan_drop(&loan, most - 1);
    const size_t none = loan.dropped;
    carry_loan_drop(&loan, most + 1);
    tap_ok(TAP_EQ(none, 0) && TAP_EQ(loan.dropped, most + 1) && TAP_EQ(loan.size, bytes.size) &&
               TAP_MEMEQ(loan.bytes, bytes.data, bytes.size),
           "many bytes are given back at once, and remain those of the file");
    carry_loan_end(&loan, capture, 0);
    carry_capture_close(capture);
    close(descriptor);
    bytes_free(&bytes);
}

/* --- Files that end early --- */

/* A pipe has no size that it could have lost. */
static void test_cut_pipe(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, 1);
    const struct carry_capture_packet *packet;
    int ends[2], code;
    if (pipe(ends) || write(ends[1], bytes.data, bytes.size - 1) != (ssize_t)bytes.size - 1)
        abort();
    close(ends[1]);
    struct carry_capture *capture = open_mapped(ends[0]);
    do
        code = carry_capture_next(capture, &packet);
    while (code == CARRY_CAPTURE_PACKET);
    tap_ok(TAP_EQ(code, CARRY_ERROR_DAMAGED), "a pipe that ends early is damaged");
    carry_capture_close(capture);
    close(ends[0]);
    bytes_free(&bytes);
}

static int stopping;

static bool stop_once(void *user, const struct carry_capture_progress *progress) {
    (void)user, (void)progress;
    if (stopping >= 0 && write(stopping, "", 1) != 1)
        abort();
    stopping = -1;
    return true;
}

/* A file that was stopped has not become shorter. */
static void test_stopped(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, 50 * COPIES);
    const struct carry_capture_check_options options = {
        .threads = 1, .alone = true, .progress = stop_once};
    const int descriptor = make_file(&bytes);
    struct carry_capture *capture = open_mapped(descriptor);
    struct carry_capture_summary *summary;
    int ends[2];
    if (pipe(ends))
        abort();
    stopping = ends[1];
    carry_capture_stop_on(capture, ends[0]);
    tap_ok(TAP_EQ(carry_capture_check(capture, &options, &summary), CARRY_OK) &&
               TAP_EQ(stopping, -1) && TAP_GT(carry_capture_totals(summary)->packets, 0) &&
               TAP_LT(carry_capture_totals(summary)->packets, 50 * CAPTURE_PACKETS * COPIES),
           "a mapped file that is stopped is read up to there");
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    close(descriptor);
    close(ends[0]);
    close(ends[1]);
    bytes_free(&bytes);
}

/* --- Files that are truncated or that grow --- */

/* A file that changes its size in a callback. */
struct change {
    int descriptor;
    off_t size;
    unsigned calls, after; /* calls of the callback; it changes the file in call `after` */
};

/* A size of -1 closes the file. */
static bool change_file(void *user, const struct carry_capture_progress *progress) {
    struct change *change = user;
    (void)progress;
    if (++change->calls == change->after && change->size < 0)
        close(change->descriptor);
    else if (change->calls == change->after && ftruncate(change->descriptor, change->size))
        abort();
    return true;
}

static int check_changing(const struct bytes *bytes, struct change *change, unsigned threads,
                          struct carry_capture_totals *totals, struct carry_capture_error *error) {
    const struct how how = {MAPPED, 500, threads, false, true};
    struct carry_capture_summary *summary;
    struct feed feed;
    struct carry_capture *capture = open_bytes(bytes, &how, &feed, &change->descriptor);
    const struct carry_capture_check_options options = {
        .threads = threads, .alone = true, .progress = change_file, .user = change};
    change->calls = 0;
    const int code = carry_capture_check(capture, &options, &summary);
    *totals = *carry_capture_totals(summary);
    *error = *carry_capture_last_error(capture);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    close(change->descriptor);
    return code;
}

/* Returns how many packets lie before an offset. */
static uint64_t packets_before(const struct bytes *bytes, size_t size) {
    const struct bytes part = {bytes->data, size};
    const struct how how = {READ, PIECE_BYTES, 1, false, true};
    return check_bytes(&part, &how).totals.packets;
}

static void test_truncated(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, 20 * COPIES);
    const off_t all = (off_t)bytes.size;
    const off_t sizes[] = {all / 2, all / 2 + 4097, all - 1, all - 5000, 8192, 100, 0};
    bool ok = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned threads = 1; threads <= 4 && ok; threads++) {
            struct carry_capture_totals totals;
            struct carry_capture_error error;
            struct change change = {.size = sizes[i], .after = 3};
            const int code = check_changing(&bytes, &change, threads, &totals, &error);
            const uint64_t least = packets_before(&bytes, (size_t)sizes[i]);
            ok = TAP_EQ(code, CARRY_ERROR_READ) &&
                 TAP_STREQ(error.text, "became shorter while it was read") &&
                 TAP_GE(totals.packets, least) && TAP_LE(totals.packets, least + 20);
        }
    tap_ok(ok, "files that are truncated while they are mapped");
    bytes_free(&bytes);
}

/* The file is truncated while threads examine pieces. */
static bool truncate_in_judge(void *state, const struct carry_capture_packet *packets,
                              size_t count) {
    struct change *change = state;
    (void)packets, (void)count;
    if (__atomic_add_fetch(&change->calls, 1, __ATOMIC_RELAXED) == change->after &&
        ftruncate(change->descriptor, change->size))
        abort();
    return true;
}

static void test_truncated_in_workers(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, 20 * COPIES);
    bool ok = true;
    for (unsigned round = 0; round < 100 && ok; round++) {
        struct change change = {.size = (off_t)(round * bytes.size / 100), .after = 2 + round % 30};
        struct carry_capture_judge truncating = lax_judge;
        truncating.prepare = truncate_in_judge;
        truncating.user = &change;
        const struct how how = {MAPPED, 500 + 100 * round, 3, false, true};
        const struct carry_capture_check_options options = {
            .threads = 3, .alone = true, .judge = &truncating};
        struct carry_capture_summary *summary;
        struct feed feed;
        struct carry_capture *capture = open_bytes(&bytes, &how, &feed, &change.descriptor);
        const int code = carry_capture_check(capture, &options, &summary);
        ok = TAP_TRUE(code == CARRY_OK || code == CARRY_ERROR_READ);
        carry_capture_summary_free(summary);
        carry_capture_close(capture);
        close(change.descriptor);
    }
    tap_ok(ok, "files that are truncated while threads read them");
    bytes_free(&bytes);
}

static void test_growing(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    struct carry_capture_totals totals;
    struct carry_capture_error error;
    struct change change = {.size = (off_t)bytes.size + 15, .after = 3};
    const int code = check_changing(&bytes, &change, 2, &totals, &error);
    tap_ok(TAP_EQ(code, CARRY_ERROR_DAMAGED) &&
               TAP_STREQ(error.text, "record header cut: 15 of 16 bytes") &&
               TAP_EQ(totals.packets, CAPTURE_PACKETS * COPIES),
           "a file that grows is read to its end");
    bytes_free(&bytes);
}

static void test_closed(void) {
    struct bytes bytes = make_repeated(CARRY_CAPTURE_FORMAT_PCAP, COPIES);
    bool ok = true;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct carry_capture_totals totals;
        struct carry_capture_error error;
        struct change change = {.size = -1, .after = 3};
        ok &= TAP_EQ(check_changing(&bytes, &change, threads, &totals, &error), CARRY_ERROR_READ) &&
              TAP_EQ(error.system, EBADF) && TAP_LT(totals.packets, CAPTURE_PACKETS * COPIES);
    }
    tap_ok(ok, "a file that is closed while it is mapped is an error");
    bytes_free(&bytes);
}

static void test_changing_files(void) {
    test_growing();
    test_closed();
    test_dropped();
    if (!fault_under_asan()) { /* it keeps the stack of functions that a frame leaves poisoned */
        test_truncated();
        test_truncated_in_workers();
    }
    carry_fault_release();
}

int main(int argc, char **argv) {
    (void)argc, (void)argv;
    const char *level = getenv("CARRY_TEST_LEVEL");
    test_loans(false);
    const bool survives = carry_fault_acquire() == CARRY_OK;
    test_loans(survives);
    test_boundaries();
    test_blocks();
    test_search();
    test_formats();
    test_limits();
    test_sections();
    test_captures_in_packets();
    test_damage(level && strcmp(level, "short") == 0 ? 50 : 150);
    test_begun();
    test_allocations();
    test_cut_pipe();
    test_stopped();
    if (survives)
        test_changing_files();
    else
        tap_skip("files that change", "without recovery from faults, files are not mapped");
    return tap_done();
}
