/* SPDX-License-Identifier: MIT */
/*
 * Tests how causes use the capturing machine's reports about checksums, also with the offset of
 * the field, which no file contains; and the texts of causes. Tests in Python cover causes by
 * frames and flows.
 */
#include <string.h>

#include "cause.h"
#include "direction.h"
#include "harness/captures.h"
#include "harness/tap.h"

#define TCP_FIELD (14 + 20 + 16)
#define IP_FIELD  (14 + 10)

struct judged {
    struct carry_capture_packet packet;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX]; /* of an IPv4 header, and of TCP */
    size_t count;
};

/* Judges packet `number` of a capture in memory. */
static struct judged judge_numbered(struct carry_capture *capture, uint64_t number) {
    struct judged judged = {.count = 0};
    const struct carry_capture_packet *packet = NULL;
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET && packet->number < number)
        continue;
    judged.packet = *packet;
    const struct carry_frame frame = carry_capture_frame(packet);
    judged.count = carry_packet_check(&frame, NULL, judged.sums, CARRY_PACKET_SUMS_MAX);
    return judged;
}

static struct evidence find_cause(struct judged *judged, uint32_t flags, uint32_t left_at,
                                  size_t index) {
    judged->packet.flags = flags;
    judged->packet.left_at = left_at;
    return carry_cause_find(&judged->packet, judged->sums, judged->count, index);
}

static void test_partial(struct judged *judged) {
    const uint32_t left = CARRY_CAPTURE_PACKET_SUM_LEFT;
    tap_ok(TAP_EQ(judged->count, 2) && TAP_EQ(judged->sums[1].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(find_cause(judged, 0, 0, 1).certainty, CARRY_CAPTURE_INFERRED) &&
               TAP_EQ(find_cause(judged, CARRY_CAPTURE_PACKET_SUM_VALID, 0, 1).certainty,
                      CARRY_CAPTURE_INFERRED),
           "without the flag, a partial sum is inferred");
    tap_ok(TAP_EQ(find_cause(judged, left, 0, 1).certainty, CARRY_CAPTURE_CERTAIN) &&
               TAP_EQ(find_cause(judged, left, TCP_FIELD, 1).certainty, CARRY_CAPTURE_CERTAIN) &&
               TAP_EQ(find_cause(judged, left, TCP_FIELD - 2, 1).certainty, CARRY_CAPTURE_INFERRED),
           "with the flag, a partial sum is certain, unless the flag names another field");
    tap_ok(TAP_EQ(find_cause(judged, left, 0, 0).certainty, CARRY_CAPTURE_INFERRED) &&
               TAP_EQ(find_cause(judged, left, IP_FIELD, 0).certainty, CARRY_CAPTURE_INFERRED) &&
               TAP_EQ(find_cause(judged, left, 0, 0).cause, CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL),
           "a partial sum of an IPv4 header is inferred");
    tap_ok(!carry_cause_contradicts(&judged->packet, judged->sums, judged->count),
           "the flag is believed");
}

static void test_bad(struct judged *judged) {
    const uint32_t left = CARRY_CAPTURE_PACKET_SUM_LEFT;
    tap_ok(
        TAP_EQ(judged->sums[1].verdict, CARRY_VERDICT_BAD) &&
            TAP_EQ(find_cause(judged, left, 0, 1).cause, CARRY_CAPTURE_CAUSE_SAID_LEFT) &&
            TAP_EQ(find_cause(judged, left, TCP_FIELD, 1).cause, CARRY_CAPTURE_CAUSE_SAID_LEFT) &&
            TAP_NE(find_cause(judged, left, IP_FIELD, 1).cause, CARRY_CAPTURE_CAUSE_SAID_LEFT) &&
            TAP_NE(find_cause(judged, 0, 0, 1).cause, CARRY_CAPTURE_CAUSE_SAID_LEFT) &&
            TAP_EQ(find_cause(judged, left, 0, 1).certainty, CARRY_CAPTURE_COMPUTED),
        "a bad sum is explained by the flag, unless the flag names another field");
    tap_ok(TAP_TRUE(carry_cause_contradicts(&judged->packet, judged->sums, judged->count)) &&
               TAP_EQ(find_cause(judged, 0, 0, 1).certainty, 0) &&
               TAP_TRUE(!carry_cause_contradicts(&judged->packet, judged->sums, judged->count)),
           "a flag for another field is wrong");
}

/* Returns whether the flag explains a bad sum that another sum follows; the flag names no field. */
static bool is_said_left(const struct judged *judged, struct carry_packet_sum behind) {
    struct judged both = {.packet = judged->packet, .sums = {judged->sums[1], behind}, .count = 2};
    return find_cause(&both, CARRY_CAPTURE_PACKET_SUM_LEFT, 0, 0).cause ==
           CARRY_CAPTURE_CAUSE_SAID_LEFT;
}

static void test_behind(const struct judged *bad, const struct judged *partial) {
    struct carry_packet_sum other = bad->sums[1], quoted = bad->sums[1];
    struct judged first = {
        .packet = bad->packet, .sums = {partial->sums[1], bad->sums[1]}, .count = 2};
    quoted.quoted = 1;
    quoted.verdict = CARRY_VERDICT_UNVERIFIABLE;
    other.verdict = CARRY_VERDICT_GOOD;
    tap_ok(TAP_TRUE(is_said_left(bad, bad->sums[0])) && TAP_TRUE(is_said_left(bad, quoted)) &&
               TAP_TRUE(!is_said_left(bad, other)),
           "the flag refers to the last sum, whatever IP headers and quotes follow it");
    tap_ok(TAP_NE(find_cause(&first, CARRY_CAPTURE_PACKET_SUM_LEFT, 0, 1).cause,
                  CARRY_CAPTURE_CAUSE_SAID_LEFT) &&
               TAP_EQ(find_cause(&first, CARRY_CAPTURE_PACKET_SUM_LEFT, 0, 0).certainty,
                      CARRY_CAPTURE_CERTAIN),
           "the flag does not refer to the last sum where another one is partial");
}

static void test_words(void) {
    bool all = true;
    for (unsigned cause = 1; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++) {
        const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
        all &= words && words->one && !strcmp(words->name, carry_capture_cause_name(cause)) &&
               (CARRY_CAPTURE_FINDING_VERDICTS >> words->verdict & 1) &&
               (words->verdict == CARRY_VERDICT_PARTIAL || (words->many && words->advice));
    }
    tap_ok(all, "each cause has a text, and each cause of wrong sums has advice");
    tap_ok(TAP_TRUE(!carry_capture_describe_cause(CARRY_CAPTURE_CAUSE_NONE)) &&
               TAP_TRUE(!carry_capture_describe_cause(CARRY_CAPTURE_CAUSE_COUNT)) &&
               TAP_TRUE(!carry_capture_describe_cause(UINT32_MAX)),
           "a number that is no cause has no text");
}

/* --- The direction of a packet --- */

/*
 * Returns the direction according to the first `captured` bytes of a header; the bytes after them
 * would give a direction too.
 */
static enum direction direction_of(uint32_t linktype, const void *header, uint32_t captured) {
    const struct carry_capture_packet packet = {
        .data = header, .captured = captured, .linktype = linktype};
    return carry_direction_of(&packet);
}

static void test_directions(void) {
    enum { COOKED = 113, COOKED2 = 276, ETHERNET = 1 };
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\4\0\1", 4), DIRECTION_SENT) &&
               TAP_EQ(direction_of(COOKED, "\0\4\0\1", 2), DIRECTION_SENT) &&
               TAP_EQ(direction_of(COOKED, "\0\0\0\1", 2), DIRECTION_RECEIVED) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\0\1\4", 11), DIRECTION_SENT),
           "cooked captures contain a packet's direction");
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\4\0\1", 1), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\0\1\4", 10), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(COOKED, "\0\11\0\1", 4), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(ETHERNET, "\0\4\0\1", 4), DIRECTION_UNKNOWN),
           "there is no direction if it was cut off, for other values, and for other links");
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\0\3\4", 4), DIRECTION_LOCAL) &&
               TAP_EQ(direction_of(COOKED, "\0\0\3\4", 3), DIRECTION_RECEIVED) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\3\4\0", 11), DIRECTION_LOCAL),
           "on a loopback device, packets are local");
}

/* --- Sentences for one sum --- */

/* Four of the bytes verify, and eight were captured. */
static const uint8_t bytes9[9] = {0x21, 0x34, 0xde, 0xcb, 0x31, [8] = 0x21};

static bool contains_text(const char *sentence, const char *words) {
    return words ? sentence && strstr(sentence, words) : !sentence;
}

static void test_verdicts(void) {
    static const struct {
        struct carry_packet_sum sum;
        const char *words;
    } sums[] = {
        {{.verdict = CARRY_VERDICT_GOOD}, "it matches"},
        {{.verdict = CARRY_VERDICT_PARTIAL, .protocol = CARRY_PROTOCOL_TCP, .stored = 1},
         "pseudo-header alone"},
        {{.verdict = CARRY_VERDICT_PARTIAL, .protocol = CARRY_PROTOCOL_TCP}, "becomes right"},
        {{.verdict = CARRY_VERDICT_PARTIAL,
          .protocol = CARRY_PROTOCOL_IP,
          .cause = CARRY_CAUSE_HEADER},
         "another checksum of the packet is partial"},
        {{.verdict = CARRY_VERDICT_PARTIAL, .protocol = CARRY_PROTOCOL_IP},
         "other packets of its sender"},
        {{.verdict = CARRY_VERDICT_ABSENT}, "chose to send none"},
        {{.verdict = CARRY_VERDICT_ABSENT, .stored = 1}, "marks it as unused"},
        {{.verdict = CARRY_VERDICT_ILLEGAL}, "demands one"},
        {{.verdict = CARRY_VERDICT_ILLEGAL, .expected = 0xffff}, "sent as 0"},
        {{.verdict = CARRY_VERDICT_UNVERIFIABLE, .cause = CARRY_CAUSE_HEADER}, "it holds 0"},
    };
    const struct carry_frame frame = {bytes9, 4, 4, 1, 0};
    bool all = true;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        all &= contains_text(carry_capture_why(&frame, &sums[i].sum), sums[i].words);
    tap_ok(all, "each verdict has a sentence");
}

/* Returns whether the text says that a sum with a wrong length verifies over the captured bytes. */
static bool says_that_it_verifies(uint32_t wire, uint8_t field_size, uint32_t field_offset,
                                  uint8_t gap_size) {
    const struct carry_frame frame = {bytes9, 4, wire, 1, 0};
    const struct carry_packet_sum sum = {.verdict = CARRY_VERDICT_UNVERIFIABLE,
                                         .reason = CARRY_REASON_LENGTH,
                                         .field_size = field_size,
                                         .field_offset = field_offset,
                                         .gap_size = gap_size,
                                         .cover_size = 8};
    return contains_text(carry_capture_why(&frame, &sum), "verify by themselves");
}

static void test_lengths(void) {
    tap_ok(says_that_it_verifies(4, 2, 2, 0),
           "captured bytes are reported that verify although a length is wrong");
    tap_ok(TAP_TRUE(!says_that_it_verifies(8, 2, 2, 0)) &&
               TAP_TRUE(!says_that_it_verifies(4, 4, 2, 0)) &&
               TAP_TRUE(!says_that_it_verifies(4, 2, 3, 0)) &&
               TAP_TRUE(!says_that_it_verifies(4, 2, 2, 2)),
           "they are not reported if bytes were cut off, nor for another kind of sum");
}

static void test_rules(void) {
    enum { PIM = CARRY_PROTOCOL_PIM, VRRP = CARRY_PROTOCOL_VRRP, UDP = CARRY_PROTOCOL_UDP };
    static const struct {
        struct carry_packet_sum sum;
        const char *words;
    } rules[] = {
        {{.protocol = UDP, .version = 4, .verdict = CARRY_VERDICT_ABSENT}, NULL},
        {{.protocol = UDP, .version = 6, .verdict = CARRY_VERDICT_ABSENT}, "may omit"},
        {{.protocol = UDP, .version = 6, .verdict = CARRY_VERDICT_ILLEGAL}, "only tunnels"},
        {{.protocol = UDP, .version = 6, .verdict = CARRY_VERDICT_BAD}, NULL},
        {{.protocol = PIM, .cover_size = 8}, "not the packet in it"},
        {{.protocol = PIM, .cover_size = 20}, "may also cover"},
        {{.protocol = PIM, .cover_offset = 1, .cover_size = 8}, NULL},
        {{.protocol = PIM, .cover_offset = 8, .cover_size = 8}, NULL},
        {{.protocol = VRRP, .version = 4, .cover_offset = 4, .pseudo = 1}, "RFC 5798"},
        {{.protocol = VRRP, .version = 4, .cover_offset = 4}, "may omit"},
        {{.protocol = VRRP, .version = 6, .cover_offset = 4}, NULL},
        {{.protocol = VRRP, .version = 4}, NULL},
        {{.protocol = CARRY_PROTOCOL_SCTP, .verdict = CARRY_VERDICT_ABSENT}, "RFC 9653"},
        {{.protocol = CARRY_PROTOCOL_SCTP, .verdict = CARRY_VERDICT_BAD}, NULL},
        {{.protocol = CARRY_PROTOCOL_OSPF, .verdict = CARRY_VERDICT_ABSENT}, "RFC 7166"},
        {{.protocol = CARRY_PROTOCOL_GRE, .verdict = CARRY_VERDICT_ABSENT}, NULL},
    };
    const struct carry_frame frame = {bytes9, 8, 8, 1, 0};
    bool all = true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!contains_text(carry_capture_rule(&frame, &rules[i].sum), rules[i].words)) {
            tap_note("rule %zu", i);
            all = false;
        }
    tap_ok(all, "each protocol's rule is explained");
}

int main(void) {
    struct bytes bytes = make_capture(CARRY_CAPTURE_FORMAT_PCAP);
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    struct judged bad = judge_numbered(capture, 2);
    test_bad(&bad);
    struct judged partial = judge_numbered(capture, 3);
    test_partial(&partial);
    test_behind(&bad, &partial);
    test_words();
    test_directions();
    test_verdicts();
    test_lengths();
    test_rules();
    carry_capture_close(capture);
    bytes_free(&bytes);
    return tap_done();
}
