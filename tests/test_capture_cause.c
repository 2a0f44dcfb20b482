/* SPDX-License-Identifier: MIT */
/*
 * What the capturing machine says of checksums, also by the place of the field, which no file
 * holds; and the words for causes. Causes by frames and flows have tests in Python.
 */
#include <string.h>

#include "cause.h"
#include "harness/captures.h"
#include "harness/tap.h"

#define TCP_FIELD (14 + 20 + 16)
#define IP_FIELD  (14 + 10)

struct judged {
    struct carry_capture_packet packet;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX]; /* an IPv4 header's, and TCP's */
    size_t count;
};

/* Packet `number` of the capture, whose bytes the capture holds. */
static struct judged judge(struct carry_capture *capture, uint64_t number) {
    struct judged judged = {.count = 0};
    const struct carry_capture_packet *packet = NULL;
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET && packet->number < number)
        continue;
    judged.packet = *packet;
    const struct carry_frame frame = carry_capture_frame(packet);
    judged.count = carry_packet_check(&frame, NULL, judged.sums, CARRY_PACKET_SUMS_MAX);
    return judged;
}

static struct evidence find(struct judged *judged, uint32_t flags, uint32_t left_at, size_t index) {
    judged->packet.flags = flags;
    judged->packet.left_at = left_at;
    return carry_cause_find(&judged->packet, judged->sums, judged->count, index);
}

static void test_partial(struct judged *judged) {
    const uint32_t left = CARRY_CAPTURE_PACKET_SUM_LEFT;
    tap_ok(judged->count == 2 && judged->sums[1].verdict == CARRY_VERDICT_PARTIAL &&
               find(judged, 0, 0, 1).certainty == CARRY_CAPTURE_INFERRED &&
               find(judged, CARRY_CAPTURE_PACKET_SUM_VALID, 0, 1).certainty ==
                   CARRY_CAPTURE_INFERRED,
           "without the flag, a partial sum is inferred");
    tap_ok(find(judged, left, 0, 1).certainty == CARRY_CAPTURE_CERTAIN &&
               find(judged, left, TCP_FIELD, 1).certainty == CARRY_CAPTURE_CERTAIN &&
               find(judged, left, TCP_FIELD - 2, 1).certainty == CARRY_CAPTURE_INFERRED,
           "with it, it is certain, unless the place is another");
    tap_ok(find(judged, left, 0, 0).certainty == CARRY_CAPTURE_INFERRED &&
               find(judged, left, IP_FIELD, 0).certainty == CARRY_CAPTURE_INFERRED &&
               find(judged, left, 0, 0).cause == CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL,
           "that of an IPv4 header is inferred");
    tap_ok(!carry_cause_contradicts(&judged->packet, judged->sums, judged->count),
           "the flag is right");
}

static void test_bad(struct judged *judged) {
    const uint32_t left = CARRY_CAPTURE_PACKET_SUM_LEFT;
    tap_ok(judged->sums[1].verdict == CARRY_VERDICT_BAD &&
               find(judged, left, 0, 1).cause == CARRY_CAPTURE_CAUSE_SAID_LEFT &&
               find(judged, left, TCP_FIELD, 1).cause == CARRY_CAPTURE_CAUSE_SAID_LEFT &&
               find(judged, left, IP_FIELD, 1).cause != CARRY_CAPTURE_CAUSE_SAID_LEFT &&
               find(judged, 0, 0, 1).cause != CARRY_CAPTURE_CAUSE_SAID_LEFT &&
               find(judged, left, 0, 1).certainty == CARRY_CAPTURE_COMPUTED,
           "a bad sum was said to be left, unless the place is another");
    tap_ok(carry_cause_contradicts(&judged->packet, judged->sums, judged->count) &&
               !find(judged, 0, 0, 1).certainty &&
               !carry_cause_contradicts(&judged->packet, judged->sums, judged->count),
           "then the flag is wrong");
}

static void test_words(void) {
    bool all = true;
    for (unsigned cause = 1; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++) {
        const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
        all &= words && words->one && !strcmp(words->name, carry_capture_cause_name(cause)) &&
               (words->verdict == CARRY_VERDICT_BAD || words->verdict == CARRY_VERDICT_PARTIAL) &&
               (words->verdict == CARRY_VERDICT_PARTIAL || (words->many && words->advice));
    }
    tap_ok(all, "each cause has words, and each of bad sums advice");
    tap_ok(!carry_capture_describe_cause(CARRY_CAPTURE_CAUSE_NONE) &&
               !carry_capture_describe_cause(CARRY_CAPTURE_CAUSE_COUNT) &&
               !carry_capture_describe_cause(UINT32_MAX),
           "what is no cause has none");
}

int main(void) {
    struct bytes bytes = make_capture(CARRY_CAPTURE_FORMAT_PCAP);
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    struct judged bad = judge(capture, 2);
    test_bad(&bad);
    struct judged partial = judge(capture, 3);
    test_partial(&partial);
    test_words();
    carry_capture_close(capture);
    bytes_free(&bytes);
    return tap_done();
}
