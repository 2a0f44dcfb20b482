/* SPDX-License-Identifier: MIT */
/*
 * Tests how causes use the flags of the capturing machine about checksums, including the offset of
 * a field, which no file format stores. Tests the texts of causes, and near misses of causes that
 * follow from frames, too. Tests in Python cover all of those causes.
 */
#include <string.h>

#include "cause.h"
#include "direction.h"
#include "harness/captures.h"
#include "harness/frame.h"
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

/*
 * Returns whether a flag explains the sum before `behind`. The flag says that sums are left to the
 * network card, but names no field.
 */
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

/* --- What a frame shows --- */

/* Gets the sum over the content of the frame's packet. */
static struct carry_packet_sum content_sum(const struct frame *frame) {
    const struct result result = check(frame);
    return result.sums[result.count - 1];
}

/* Returns the cause of a TCP sum that is off by `difference`, in a packet with this word of data.
 */
static enum carry_capture_cause cause_with(uint32_t word, uint32_t difference) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, TCP, 22);
    const uint32_t tcp = put_tcp(frame, &flow4, 0);
    set16(frame, put(frame, "0000"), word);
    seal(frame, tcp + 16, tcp, 22, pseudo(&flow4, TCP, 22));
    add16(frame, tcp + 16, difference);
    const struct carry_packet_sum sum = content_sum(frame);
    const struct carry_frame view = view_cut(frame, frame->size);
    return carry_cause_of(&view, &sum);
}

/* A sum is folded in either byte order, and a flipped bit may make the same difference. */
static void test_carries(void) {
    static const struct {
        uint32_t word, difference;
        enum carry_capture_cause cause;
    } rows[] = {
        {0xff40, 1, CARRY_CAPTURE_CAUSE_LOST_CARRY}, {0xff40, 256, CARRY_CAPTURE_CAUSE_ONE_BIT},
        {0x003f, 1, CARRY_CAPTURE_CAUSE_ONE_BIT},    {0x003f, 256, CARRY_CAPTURE_CAUSE_LOST_CARRY},
        {0x0000, 1, CARRY_CAPTURE_CAUSE_ONE_BIT},    {0x0000, 193, CARRY_CAPTURE_CAUSE_TWICE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_ok(TAP_EQ(cause_with(rows[i].word, rows[i].difference), rows[i].cause),
               "data %04x, off by %u: %s", rows[i].word, rows[i].difference,
               carry_capture_cause_name(rows[i].cause));
}

/* Returns the value that would be right under an assumption; UINT32_MAX if it is not listed. */
static uint32_t assumed_value(uint8_t protocol, const char *bytes, const char *text) {
    struct carry_capture_assumption list[CARRY_CAPTURE_ASSUMPTIONS];
    const uint32_t size = start(bytes)->size;
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, protocol, size);
    put(frame, bytes);
    const struct carry_packet_sum sum = content_sum(frame);
    const struct carry_frame view = view_cut(frame, frame->size);
    const size_t count = carry_cause_assume(&view, &sum, CARRY_CAPTURE_CAUSE_NONE, list);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].text, text))
            return list[i].value;
    return UINT32_MAX;
}

/* The sums of all these packets would be 0, which UDP sends as 0xffff. */
static void test_assumed_values(void) {
    static const struct {
        uint8_t protocol;
        const char *bytes, *text;
        uint32_t value;
    } rows[] = {
        {UDP, "0000 0000 000a 1234 fff5", "without the pseudo-header", 0xffff},
        {TCP, "0000 0000 00000000 00000000 5000 0000 1234 0000 afff", "without the pseudo-header",
         0},
        {TCP, "0050 c001 01020304 00000000 5010 ffff 1234 0000 003f",
         "if it were folded only once, bytes swapped", 0},
        {TCP, "0050 c001 01020304 00000000 5010 ffff 1234 0000 003f", "if it were folded only once",
         UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_ok(TAP_EQ(assumed_value(rows[i].protocol, rows[i].bytes, rows[i].text), rows[i].value),
               "a value %s, case %zu", rows[i].text, i + 1);
}

/* All assumptions are listed for a cause that a flow shows, for no cause, and for a number that is
   not a cause. Only those that fit are listed for a cause that the frame shows. */
static void test_numbers(const struct judged *bad) {
    struct carry_capture_assumption list[CARRY_CAPTURE_ASSUMPTIONS];
    const struct carry_frame frame = carry_capture_frame(&bad->packet);
    const struct carry_packet_sum *sum = &bad->sums[1];
    const size_t all = carry_cause_assume(&frame, sum, CARRY_CAPTURE_CAUSE_NONE, list);
    tap_ok(TAP_GT(all, 1) &&
               TAP_EQ(carry_cause_assume(&frame, sum, CARRY_CAPTURE_CAUSE_REWRITTEN, list), all) &&
               TAP_EQ(carry_cause_assume(&frame, sum, CARRY_CAPTURE_CAUSE_COUNT, list), all) &&
               TAP_EQ(carry_cause_assume(&frame, sum, CARRY_CAPTURE_CAUSE_PADDING, list), 0),
           "assumptions are listed that fit the cause, or all of them");
    tap_ok(TAP_TRUE(carry_cause_is_of_flow(CARRY_CAPTURE_CAUSE_REWRITTEN)) &&
               TAP_TRUE(!carry_cause_is_of_flow(CARRY_CAPTURE_CAUSE_PADDING)) &&
               TAP_TRUE(!carry_cause_is_of_flow(CARRY_CAPTURE_CAUSE_NONE)) &&
               TAP_TRUE(!carry_cause_is_of_flow(CARRY_CAPTURE_CAUSE_COUNT)),
           "causes that flows show are told from others");
}

/* Returns the cause of a partial IPv4 header sum of 0 in a packet to this address. */
static enum carry_capture_cause cause_of_left(const char *address) {
    struct frame *frame = start(ETHERNET4);
    const uint32_t ip = put_ip(frame, TCP, 20);
    frame->size = ip + 16;
    put(frame, address);
    set16(frame, ip + 10, 0);
    put_tcp(frame, &flow4, 0);
    struct carry_packet_sum sum = check(frame).sums[0];
    const struct carry_capture_packet packet = {.data = frame->bytes,
                                                .captured = frame->size,
                                                .wire = frame->size,
                                                .linktype = frame->linktype};
    carry_cause_leave(&sum);
    return carry_cause_find(&packet, &sum, 1, 0).cause;
}

static void test_left_header(void) {
    tap_ok(TAP_EQ(cause_of_left("7f000001"), CARRY_CAPTURE_CAUSE_LOCAL) &&
               TAP_EQ(cause_of_left(DST4), CARRY_CAPTURE_CAUSE_BY_SENDER),
           "a header is left in packets that stay on their machine, or by their sender");
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
    enum { COOKED = 113, COOKED2 = 276 };
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\4\0\1", 4), DIRECTION_SENT) &&
               TAP_EQ(direction_of(COOKED, "\0\4\0\1", 2), DIRECTION_SENT) &&
               TAP_EQ(direction_of(COOKED, "\0\0\0\1", 2), DIRECTION_RECEIVED) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\0\1\4", 11), DIRECTION_SENT),
           "cooked captures contain a packet's direction");
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\4\0\1", 1), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\0\1\4", 10), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(COOKED, "\0\11\0\1", 4), DIRECTION_UNKNOWN) &&
               TAP_EQ(direction_of(LINK_ETHERNET, "\0\4\0\1", 4), DIRECTION_UNKNOWN),
           "there is no direction if it was cut off, for other values, and for other links");
    tap_ok(TAP_EQ(direction_of(COOKED, "\0\0\3\4", 4), DIRECTION_LOCAL) &&
               TAP_EQ(direction_of(COOKED, "\0\0\3\4", 3), DIRECTION_RECEIVED) &&
               TAP_EQ(direction_of(COOKED2, "\0\0\0\0\0\0\0\0\3\4\0", 11), DIRECTION_LOCAL),
           "on a loopback device, packets are local");
}

/* --- Sentences for one sum --- */

/* The first four bytes verify. Tests capture at most eight. */
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
    enum { PIM = CARRY_PROTOCOL_PIM, VRRP = CARRY_PROTOCOL_VRRP };
    static const struct {
        struct carry_packet_sum sum;
        const char *words;
    } rules[] = {
        {{.protocol = CARRY_PROTOCOL_UDP, .version = 4, .verdict = CARRY_VERDICT_ABSENT}, NULL},
        {{.protocol = CARRY_PROTOCOL_UDP, .version = 6, .verdict = CARRY_VERDICT_ABSENT},
         "may omit"},
        {{.protocol = CARRY_PROTOCOL_UDP, .version = 6, .verdict = CARRY_VERDICT_ILLEGAL},
         "only tunnels"},
        {{.protocol = CARRY_PROTOCOL_UDP, .version = 6, .verdict = CARRY_VERDICT_BAD}, NULL},
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
    test_carries();
    test_assumed_values();
    test_numbers(&bad);
    test_left_header();
    test_directions();
    test_verdicts();
    test_lengths();
    test_rules();
    carry_capture_close(capture);
    bytes_free(&bytes);
    return tap_done();
}
