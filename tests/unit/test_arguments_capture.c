/* SPDX-License-Identifier: MIT */
/*
 * Tests that functions of <carry/capture.h> accept or refuse, by the rule of <carry/base.h>,
 * missing objects and numbers out of range.
 */
#include <carry/capture.h>

#include <string.h>

#include "harness/tap.h"

#define NO_ENUMERATOR 999

static int write_nothing(void *user, const void *bytes, size_t size) {
    (void)user, (void)bytes, (void)size;
    return 0;
}

static bool explain_nothing(void *user, const struct carry_capture_explanation *explanation) {
    (void)user, (void)explanation;
    return true;
}

static void test_opening(void) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    tap_ok(TAP_EQ(carry_capture_open_memory(NULL, 0, &capture, NULL), CARRY_OK),
           "no bytes are opened");
    carry_capture_stop_on(capture, -1);
    carry_capture_map(capture);
    tap_ok(TAP_EQ(carry_capture_format(capture), CARRY_CAPTURE_FORMAT_UNKNOWN) &&
               TAP_EQ(carry_capture_explain(capture, 0, explain_nothing, NULL, NULL),
                      CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_next(capture, &packet), CARRY_ERROR_UNRECOGNISED),
           "and are no capture");
    carry_capture_close(capture);
    carry_capture_close(NULL);
    tap_ok(TAP_EQ(carry_capture_open_fd(-1, &capture, NULL), CARRY_ERROR_READ) &&
               TAP_TRUE(!capture) &&
               TAP_EQ(carry_capture_open_path(NULL, &capture, NULL), CARRY_ERROR_INVALID) &&
               TAP_TRUE(!capture),
           "no descriptor, no path");
}

static void test_summaries(void) {
    struct carry_capture_sender senders[1];
    struct carry_capture_summary *summary = carry_capture_summary_create();
    uint32_t linktype;
    uint64_t packets;
    tap_ok(TAP_EQ(carry_capture_count(summary, NO_ENUMERATOR, 0), 0) &&
               TAP_EQ(carry_capture_count(summary, 0, NO_ENUMERATOR), 0) &&
               TAP_EQ(carry_capture_total(summary, 1u << 31), 0) &&
               TAP_EQ(carry_capture_reason_count(summary, NO_ENUMERATOR, 0), 0) &&
               TAP_EQ(carry_capture_reason_count(summary, 0, NO_ENUMERATOR), 0) &&
               TAP_EQ(carry_capture_cause_count(summary, NO_ENUMERATOR, 0), 0) &&
               TAP_EQ(carry_capture_cause_count(summary, 0, NO_ENUMERATOR), 0) &&
               TAP_EQ(carry_capture_certain_count(summary, NO_ENUMERATOR), 0) &&
               TAP_EQ(carry_capture_reassembly_count(summary, NO_ENUMERATOR), 0),
           "counts of values outside the enumerations");
    tap_ok(TAP_EQ(carry_capture_senders(summary, NO_ENUMERATOR, 0, true, senders, 1, NULL), 0) &&
               TAP_EQ(carry_capture_senders(summary, 0, NO_ENUMERATOR, true, NULL, 0, NULL), 0) &&
               TAP_TRUE(!carry_capture_unknown_link(summary, SIZE_MAX, &linktype, &packets)) &&
               TAP_TRUE(!carry_capture_kept(summary, SIZE_MAX)) &&
               TAP_TRUE(!carry_capture_span(summary, SIZE_MAX, &packets, &packets)) &&
               TAP_EQ(carry_capture_span_count(summary, SIZE_MAX, 0), 0) &&
               TAP_EQ(carry_capture_span_count(summary, 0, NO_ENUMERATOR), 0),
           "senders, link types, findings and spans of time that do not exist");
    carry_capture_summary_free(summary);
    carry_capture_summary_free(NULL);
}

static void test_repairs(void) {
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    carry_capture_open_memory(NULL, 0, &capture, NULL);
    carry_capture_fix(capture, NULL, NULL, &repairs);
    tap_ok(
        TAP_EQ(carry_capture_repaired(repairs, NO_ENUMERATOR, 0), 0) &&
            TAP_EQ(carry_capture_left(repairs, 0, NO_ENUMERATOR), 0) &&
            TAP_TRUE(!carry_capture_left_group(repairs, NO_ENUMERATOR, 0, 0)->count) &&
            TAP_TRUE(!carry_capture_left_group(repairs, 0, NO_ENUMERATOR, 0)->count) &&
            TAP_TRUE(!carry_capture_left_group(repairs, 0, 0, NO_ENUMERATOR)->count) &&
            TAP_TRUE(
                !carry_capture_left_group(repairs, 0, 0, CARRY_CAPTURE_LEFT_DATAGRAM - 1)->count),
        "repairs of what is none");
    carry_capture_repairs_free(repairs);
    carry_capture_repairs_free(NULL);
    carry_capture_close(capture);
}

static void test_places(void) {
    struct carry_capture_repairs *repairs = NULL, *others = NULL;
    struct carry_capture *capture;
    const struct carry_capture_sink nowhere = {0};
    carry_capture_open_memory(NULL, 0, &capture, NULL);
    tap_ok(TAP_EQ(carry_capture_fix(capture, NULL, &nowhere, &repairs), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_fix_fd(capture, NULL, -1, &others), CARRY_ERROR_INVALID) &&
               TAP_TRUE(repairs && others),
           "a sink without functions, and a descriptor that is not open");
    carry_capture_repairs_free(repairs);
    carry_capture_repairs_free(others);
    carry_capture_close(capture);
}

static void test_options(void) {
    const struct carry_capture_check_options threads = {.threads = NO_ENUMERATOR};
    const struct carry_capture_check_options verdicts = {.listed = 1u << 31};
    const struct carry_capture_judge nothing = {0};
    const struct carry_capture_check_options judge = {.judge = &nothing};
    struct carry_capture_checker *checker;
    tap_ok(TAP_EQ(carry_capture_checker_create(&threads, &checker), CARRY_ERROR_INVALID) &&
               TAP_TRUE(!checker) &&
               TAP_EQ(carry_capture_checker_create(&verdicts, &checker), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_checker_create(&judge, &checker), CARRY_ERROR_INVALID),
           "options of a checker");
    carry_capture_checker_free(NULL);
}

static void test_packets(void) {
    struct carry_capture_summary *summary = carry_capture_summary_create();
    struct carry_capture_checker *checker;
    carry_capture_checker_create(NULL, &checker);
    tap_ok(TAP_EQ(carry_capture_checker_add(checker, NULL, 0), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_checker_end(checker), CARRY_ERROR_INVALID),
           "packets before the first");
    tap_ok(TAP_EQ(carry_capture_checker_begin(checker, summary), CARRY_OK) &&
               TAP_EQ(carry_capture_checker_begin(checker, summary), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_checker_add(checker, NULL, 0), CARRY_OK) &&
               TAP_EQ(carry_capture_checker_end(checker), CARRY_OK) &&
               TAP_EQ(carry_capture_totals(summary)->packets, 0),
           "no packets are added");
    carry_capture_checker_free(checker);
    carry_capture_summary_free(summary);
}

static void test_writer(void) {
    const struct carry_capture_writer_options options = {
        .format = (enum carry_capture_format)NO_ENUMERATOR};
    const struct carry_capture_sink sink = {.write = write_nothing};
    const struct carry_capture_packet empty = {.linktype = 1};
    struct carry_capture_writer *writer;
    tap_ok(TAP_EQ(carry_capture_writer_create(&options, &sink, &writer), CARRY_ERROR_INVALID) &&
               TAP_TRUE(!writer),
           "a format");
    carry_capture_writer_create(NULL, &sink, &writer);
    tap_ok(TAP_EQ(carry_capture_writer_name(writer, 0, NULL), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_writer_name(writer, UINT32_MAX, ""), CARRY_ERROR_INVALID) &&
               TAP_EQ(carry_capture_writer_name(writer, 0, ""), CARRY_OK),
           "names of interfaces");
    tap_ok(TAP_EQ(carry_capture_writer_statistics(writer, UINT32_MAX,
                                                  &(struct carry_capture_statistics){0}),
                  CARRY_ERROR_INVALID),
           "statistics of no interface");
    tap_ok(TAP_EQ(carry_capture_writer_add(writer, &empty, ""), CARRY_OK),
           "a packet without bytes");
    carry_capture_writer_free(writer);
    carry_capture_writer_free(NULL);
}

static void test_sums(void) {
    const struct carry_frame frame = {.linktype = 1};
    const struct carry_packet_sum sum = {.protocol = 255, .verdict = 255, .reason = 255};
    tap_ok(TAP_TRUE(!carry_capture_describe_link(UINT32_MAX)) &&
               TAP_TRUE(*carry_capture_why(&frame, &sum)) &&
               TAP_TRUE(!carry_capture_rule(&frame, &sum)) &&
               TAP_TRUE(!carry_capture_has_expected(&sum)),
           "an unknown link type, and a sum with unknown values");
    const struct carry_capture_finding finding = {.sum = sum, .cause = NO_ENUMERATOR};
    tap_ok(
        TAP_TRUE(!carry_capture_describe_cause(NO_ENUMERATOR)) &&
            TAP_TRUE(!carry_capture_describe_cause(CARRY_CAPTURE_CAUSE_NONE)) &&
            TAP_STREQ(carry_capture_why_found(&frame, &finding), carry_capture_why(&frame, &sum)),
        "values that are not a cause");
}

int main(void) {
    test_opening();
    test_summaries();
    test_repairs();
    test_places();
    test_options();
    test_packets();
    test_writer();
    test_sums();
    return tap_done();
}
