/* SPDX-License-Identifier: MIT */
#include "cause.h"

#include <string.h>

#include <carry/sum.h>

#include "direction.h"
#include "ends.h"
#include "local_headers.h"

/* --- The table --- */

static const struct carry_capture_cause_words words[CARRY_CAPTURE_CAUSE_COUNT] = {
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice)                        \
    [CARRY_CAPTURE_CAUSE_##id] = {#name, one, many, advice, CARRY_VERDICT_##verdict, {0}},
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
};

/* Where the evidence of each cause is: in the frame, in flags or the link header, or in its flow.
 */
static const enum {
    EVIDENCE_FRAME,
    EVIDENCE_SAID,
    EVIDENCE_FLOW
} evidences[] = {
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice)                        \
    [CARRY_CAPTURE_CAUSE_##id] = EVIDENCE_##evidence,
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
};

const struct carry_capture_cause_words *carry_capture_describe_cause(unsigned cause) {
    const bool is_row = cause != CARRY_CAPTURE_CAUSE_NONE && cause < CARRY_CAPTURE_CAUSE_COUNT;
    return is_row ? &words[cause] : NULL;
}

const char *carry_capture_cause_name(unsigned cause) {
    if (cause == CARRY_CAPTURE_CAUSE_NONE)
        return "none";
    return cause < CARRY_CAPTURE_CAUSE_COUNT ? words[cause].name : "unknown";
}

/* --- Ones'-complement numbers: 0xffff is 0 --- */

#define MODULUS 65535u

static uint32_t add_mod(uint32_t a, uint32_t b) {
    return (a % MODULUS + b % MODULUS) % MODULUS;
}

static uint32_t negate_mod(uint32_t a) {
    return MODULUS - a % MODULUS;
}

/* Folds a partial sum and returns it as a big-endian number. */
static uint32_t folded_number(uint32_t sum) {
    const uint16_t folded = carry_sum_fold(sum);
    uint8_t bytes[2];
    memcpy(bytes, &folded, sizeof bytes);
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

uint32_t carry_cause_difference(const struct carry_packet_sum *sum) {
    return sum->field_size == 2 ? add_mod(sum->stored, negate_mod(sum->expected)) : UINT32_MAX;
}

/* --- What the bytes of a frame show --- */

struct suspect {
    const struct carry_frame *frame;
    const struct carry_packet_sum *sum;
    uint32_t difference;
    const struct carry_packet_sum *sums; /* sums of the frame, as far as they are known */
    size_t count;
    struct assumed *assumed; /* NULL: the tests compare, and list nothing */
};

/* The assumptions that the tests of causes make about a sum. While they are listed, the results of
   the tests are ignored. */
struct assumed {
    enum carry_capture_cause cause; /* whose test is running */
    struct carry_capture_assumption *list;
    size_t count;
};

/* Returns the value that differs from the expected one by `difference`. In UDP, 0 is sent as
   0xffff. */
static uint32_t value_off_by(const struct carry_packet_sum *sum, uint32_t difference) {
    const uint32_t value = add_mod(sum->expected, difference);
    return value || sum->protocol != CARRY_PROTOCOL_UDP ? value : UINT16_MAX;
}

/* Lists an assumption, unless it makes no difference to this sum or the list is full. */
static void list_assumption(const struct suspect *suspect, uint32_t difference, const char *text) {
    struct assumed *assumed = suspect->assumed;
    if (difference % MODULUS && assumed->count < CARRY_CAPTURE_ASSUMPTIONS)
        assumed->list[assumed->count++] = (struct carry_capture_assumption){
            .text = text,
            .cause = assumed->cause,
            .value = value_off_by(suspect->sum, difference),
        };
}

/* Checks whether the checksum would be right if the sum of the covered bytes, or of the
   pseudo-header, were smaller by `less`. `text` describes this; it follows "would be right". */
static bool is_right_without(const struct suspect *suspect, uint32_t less, const char *text) {
    if (!suspect->assumed)
        return suspect->difference == less % MODULUS;
    list_assumption(suspect, less, text);
    return false;
}

static bool is_right_with(const struct suspect *suspect, uint32_t more, const char *text) {
    return is_right_without(suspect, negate_mod(more), text);
}

/* Returns which bit of the covered bytes or the field makes this difference when it flips; 16 if no
   bit does. */
static uint32_t bit_of(uint32_t difference) {
    uint32_t bit = 0;
    while (bit < 16 && difference != 1u << bit && difference != negate_mod(1u << bit))
        bit++;
    return bit;
}

/* Checks for a flipped bit. This cause has precedence over other causes that fit. */
static bool fits_one_bit(const struct suspect *suspect) {
    return !suspect->assumed && bit_of(suspect->difference) < 16;
}

static bool fits_zero(const struct suspect *suspect) {
    return suspect->sum->stored == 0;
}

/* Checks for a sum over bytes that contained the right sum. A field of 0 may have the same cause:
   see ZERO. */
static bool fits_twice(const struct suspect *suspect) {
    return suspect->sum->field_size == 2 && suspect->sum->stored == UINT16_MAX &&
           !fits_one_bit(suspect);
}

static bool fits_zero_computed(const struct suspect *suspect) {
    return suspect->sum->expected == UINT16_MAX;
}

static bool fits_adler32(const struct suspect *suspect) {
    return suspect->sum->cause == CARRY_CAUSE_ADLER32;
}

static bool fits_not_inverted(const struct suspect *suspect) {
    return is_right_with(suspect, 2 * suspect->sum->expected, "if it were not inverted");
}

static bool fits_swapped(const struct suspect *suspect) {
    const uint32_t expected = suspect->sum->expected;
    const uint32_t swapped = __builtin_bswap16((uint16_t)expected);
    return is_right_without(suspect, add_mod(swapped, negate_mod(expected)),
                            "with its bytes swapped");
}

static bool fits_no_pseudo(const struct suspect *suspect) {
    return suspect->sum->pseudo && is_right_without(suspect, folded_number(suspect->sum->pseudo),
                                                    "without the pseudo-header");
}

/* Checks for a sum computed while the field still held the sum of the pseudo-header. */
static bool fits_pseudo_twice(const struct suspect *suspect) {
    return suspect->sum->pseudo && !fits_one_bit(suspect) &&
           is_right_with(suspect, folded_number(suspect->sum->pseudo),
                         "with the pseudo-header counted twice");
}

/* Returns the number of bytes between the start of the IP header (over IPv6, the end of its fixed
   header) and the transport header. A sender that puts IP's length into the pseudo-header counts
   these bytes too. */
static uint32_t headers_before(const struct carry_packet_sum *sum) {
    const uint32_t fixed = sum->version == 6 ? 40 : 0;
    return sum->cover_offset - sum->network_offset - fixed;
}

static bool fits_pseudo_length(const struct suspect *suspect) {
    const struct carry_packet_sum *sum = suspect->sum;
    return sum->pseudo && !fits_one_bit(suspect) &&
           (is_right_without(suspect, sum->pseudo_size,
                             "with a length of 0 in the pseudo-header") ||
            is_right_with(suspect, headers_before(sum), "with the IP length in the pseudo-header"));
}

/* Checks whether the checksum would be right with these addresses in the pseudo-header. */
static bool is_right_between(const struct suspect *suspect,
                             const struct carry_capture_address *from,
                             const struct carry_capture_address *to, const char *text) {
    const struct carry_packet_sum *sum = suspect->sum;
    const uint32_t other =
        sum->version == 6
            ? carry_sum_pseudo6(from->bytes, to->bytes, sum->pseudo_protocol, sum->pseudo_size, 0)
            : carry_sum_pseudo4(from->bytes, to->bytes, sum->pseudo_protocol, sum->pseudo_size, 0);
    return is_right_with(
        suspect, add_mod(folded_number(other), negate_mod(folded_number(sum->pseudo))), text);
}

static bool fits_pseudo_address(const struct suspect *suspect) {
    const struct ends ends = carry_ends_of(suspect->frame, suspect->sum);
    return suspect->sum->pseudo && !fits_one_bit(suspect) &&
           (is_right_between(suspect, &ends.from, &ends.to, "with the IP header's addresses") ||
            is_right_between(suspect, &ends.from, &ends.from, "with the source address twice"));
}

#define NEXT_HEADER_AT  6 /* in the header of IPv6 */
#define PROTOCOL_ICMP   1
#define PROTOCOL_ICMPV6 58

/* Checks whether the checksum would be right with this protocol in the pseudo-header. */
static bool is_right_for(const struct suspect *suspect, uint32_t protocol, const char *text) {
    return is_right_with(suspect, add_mod(protocol, negate_mod(suspect->sum->pseudo_protocol)),
                         text);
}

static bool fits_pseudo_protocol(const struct suspect *suspect) {
    const struct carry_packet_sum *sum = suspect->sum;
    const uint8_t *header = (const uint8_t *)suspect->frame->data + sum->network_offset;
    return sum->pseudo && sum->version == 6 && !fits_one_bit(suspect) &&
           (is_right_for(suspect, header[NEXT_HEADER_AT], "with the protocol of the next header") ||
            (sum->pseudo_protocol == PROTOCOL_ICMPV6 &&
             is_right_for(suspect, PROTOCOL_ICMP, "with the protocol of ICMP")));
}

/* Gets the sum and the size of the bytes that follow the packet in the frame. Returns false if
   there are none, or if the frame was not captured completely. */
static bool find_padding(const struct suspect *suspect, uint32_t *sum, uint32_t *size) {
    const struct carry_frame *frame = suspect->frame;
    const uint64_t end = (uint64_t)suspect->sum->cover_offset + suspect->sum->cover_size;
    if (end >= frame->captured || frame->captured < frame->wire)
        return false;
    *size = frame->captured - (uint32_t)end;
    *sum = folded_number(carry_sum_combine(
        0, carry_sum((const uint8_t *)frame->data + end, *size, 0), suspect->sum->cover_size));
    return true;
}

static bool fits_padding(const struct suspect *suspect) {
    uint32_t more, size;
    return suspect->sum->protocol != CARRY_PROTOCOL_IP && !fits_one_bit(suspect) &&
           find_padding(suspect, &more, &size) &&
           (is_right_with(suspect, more, "with the bytes after the packet") ||
            (suspect->sum->pseudo &&
             is_right_with(suspect, add_mod(more, size),
                           "with the bytes after the packet, and their length")));
}

/* Checks whether the last byte was summed wrongly. If the number of covered bytes is odd, the last
   byte is the upper half of a word. Some senders omit this byte, or add it as the lower half. */
static bool fits_odd_byte(const struct suspect *suspect) {
    const struct carry_packet_sum *sum = suspect->sum;
    if (sum->cover_size % 2 == 0 || fits_one_bit(suspect))
        return false;
    const uint8_t *data = suspect->frame->data;
    const uint32_t last = data[sum->cover_offset + sum->cover_size - 1];
    return is_right_without(suspect, last << 8, "without the last byte") ||
           is_right_without(suspect, (last << 8) - last,
                            "with the last byte in the other half of its word");
}

#define TTL_AT  8
#define TTL_ONE 0x0100u /* a TTL of 1: the upper byte of its word */

static bool fits_ttl(const struct suspect *suspect) {
    const uint8_t *header = (const uint8_t *)suspect->frame->data + suspect->sum->cover_offset;
    return suspect->sum->protocol == CARRY_PROTOCOL_IP && header[TTL_AT] < UINT8_MAX &&
           is_right_with(suspect, TTL_ONE, "for a TTL that is higher by one");
}

/* --- A carry that was lost --- */

/* The sums of the upper and the lower bytes of 16-bit words, from which the sum in either byte
   order follows. */
struct byte_sums {
    uint64_t upper, lower;
};

static void add_bytes(struct byte_sums *sums, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        *(i % 2 ? &sums->lower : &sums->upper) += bytes[i];
}

/* Sums the bytes that the checksum covers, with its field as 0, and does not fold the sums. */
static struct byte_sums unfolded_sums(const struct suspect *suspect) {
    const struct carry_packet_sum *sum = suspect->sum;
    const struct ends ends = carry_ends_of(suspect->frame, sum);
    const uint32_t size = sum->pseudo_size;
    const uint8_t rest[] = {
        (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, 0,
        sum->pseudo_protocol};
    struct byte_sums sums = {0, 0};
    add_bytes(&sums, (const uint8_t *)suspect->frame->data + sum->cover_offset, sum->cover_size);
    sums.upper -= sum->stored >> 8;
    sums.lower -= sum->stored & UINT8_MAX;
    if (sum->pseudo) {
        add_bytes(&sums, ends.from.bytes, sizeof ends.from.bytes);
        add_bytes(&sums, ends.to.bytes, sizeof ends.to.bytes);
        add_bytes(&sums, rest, sizeof rest);
    }
    return sums;
}

/* A limit on the carries of a sum, so that a flipped bit hardly ever looks like a lost carry: 2 of
   32 flips change the sum by as much as a lost carry, and then 1 of 65536 / CARRIES_MAX sums would
   lose a carry. */
#define CARRIES_MAX 1024

/* Checks whether folding this sum once leaves a carry. */
static bool loses_carry(uint64_t sum) {
    const uint64_t carries = sum >> 16;
    return carries < CARRIES_MAX && (sum & UINT16_MAX) + carries > UINT16_MAX;
}

/* Checks whether a sum of unfolded_sums() gives the expected checksum. It does not if the
   pseudo-header has other addresses than the IP header, or if some covered bytes do not count. */
static bool is_expected(const struct suspect *suspect, uint64_t sum) {
    return (sum + suspect->sum->expected) % MODULUS == 0;
}

static bool fits_lost_carry(const struct suspect *suspect) {
    if (!suspect->assumed && suspect->difference != 1 && suspect->difference != 1u << 8)
        return false;
    const struct byte_sums sums = unfolded_sums(suspect);
    const uint64_t big = (sums.upper << 8) + sums.lower, little = (sums.lower << 8) + sums.upper;
    if (!is_expected(suspect, big))
        return false;
    return (loses_carry(big) && is_right_without(suspect, 1, "if it were folded only once")) ||
           (loses_carry(little) &&
            is_right_without(suspect, 1u << 8, "if it were folded only once, bytes swapped"));
}

/* Checks whether the frame itself shows that an IPv4 header's sum is partial. BY_SENDER is the
   cause if only other frames show it. */
static bool fits_beside_partial(const struct suspect *suspect) {
    return suspect->sum->protocol == CARRY_PROTOCOL_IP && suspect->sum->cause == CARRY_CAUSE_HEADER;
}

static bool fits_by_sender(const struct suspect *suspect) {
    return suspect->sum->protocol == CARRY_PROTOCOL_IP;
}

static bool fits_around_partial(const struct suspect *suspect) {
    return suspect->sum->expected == suspect->sum->stored;
}

/* Checks whether a good sum of the frame covers the field. The checksum of an error message always
   covers the packet that it quotes. */
static bool fits_inside_good(const struct suspect *suspect) {
    const struct carry_packet_sum *inner = suspect->sum;
    if (inner->quoted)
        return false;
    for (size_t i = 0; i < suspect->count; i++) {
        const struct carry_packet_sum *sum = &suspect->sums[i];
        if (sum->verdict == CARRY_VERDICT_GOOD && sum->cover_offset <= inner->field_offset &&
            inner->field_offset - sum->cover_offset < sum->cover_size)
            return true;
    }
    return false;
}

static bool fits_offload(const struct suspect *suspect) {
    return suspect->sum->verdict == CARRY_VERDICT_PARTIAL;
}

static const struct {
    enum carry_capture_cause cause;
    enum carry_verdict verdict;
    bool (*fits)(const struct suspect *suspect);
} tests[] = {
#define FROM_FRAME(id, name, verdict) {CARRY_CAPTURE_CAUSE_##id, verdict, fits_##name},
#define FROM_SAID(id, name, verdict)
#define FROM_FLOW(id, name, verdict)
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice)                        \
    FROM_##evidence(id, name, CARRY_VERDICT_##verdict)
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
};

/* Returns the cause of sum `index` of the `count` sums of a frame. */
static enum carry_capture_cause find_frame_cause(const struct carry_frame *frame,
                                                 const struct carry_packet_sum *sums, size_t count,
                                                 size_t index) {
    const struct carry_packet_sum *sum = &sums[index];
    const struct suspect suspect = {frame, sum, carry_cause_difference(sum), sums, count, NULL};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (tests[i].verdict == sum->verdict && tests[i].fits(&suspect))
            return tests[i].cause;
    return CARRY_CAPTURE_CAUSE_NONE;
}

enum carry_capture_cause carry_cause_of(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum) {
    return find_frame_cause(frame, sum, 1, 0);
}

/* --- What the tests assume --- */

static bool is_of_frame(unsigned cause) {
    return cause && cause < CARRY_CAPTURE_CAUSE_COUNT && evidences[cause] == EVIDENCE_FRAME;
}

/* Keeps the assumptions that the stored value fits. Returns how many. */
static size_t keep_fitting(const struct carry_packet_sum *sum,
                           struct carry_capture_assumption *list, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].value % MODULUS == sum->stored % MODULUS)
            list[kept++] = list[i];
    return kept;
}

size_t carry_cause_assume(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                          unsigned cause,
                          struct carry_capture_assumption list[CARRY_CAPTURE_ASSUMPTIONS]) {
    struct assumed assumed = {.list = list};
    const struct suspect suspect = {frame, sum, carry_cause_difference(sum), sum, 1, &assumed};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        assumed.cause = tests[i].cause;
        if (tests[i].verdict == sum->verdict && (!is_of_frame(cause) || tests[i].cause == cause))
            tests[i].fits(&suspect);
    }
    return is_of_frame(cause) ? keep_fitting(sum, list, assumed.count) : assumed.count;
}

bool carry_cause_is_of_flow(unsigned cause) {
    return cause && cause < CARRY_CAPTURE_CAUSE_COUNT && evidences[cause] == EVIDENCE_FLOW;
}

/* --- What the capturing machine said --- */

/* Checks whether the field holds the sum of the pseudo-header, for a network card to complete: such
   a sum is called open. */
static bool holds_pseudo_sum(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && sum->protocol != CARRY_PROTOCOL_IP &&
           sum->expected != sum->stored && !sum->quoted;
}

static size_t count_pseudo_sums(const struct carry_packet_sum *sums, size_t count) {
    size_t open = 0;
    for (size_t i = 0; i < count; i++)
        open += holds_pseudo_sum(&sums[i]);
    return open;
}

/* Checks whether the packet's flags mean this sum. Without the offset of the field, that is certain
   only if a single sum is open. */
static bool is_certain(const struct carry_capture_packet *packet,
                       const struct carry_packet_sum *sums, size_t count,
                       const struct carry_packet_sum *sum) {
    if (!(packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT) || !holds_pseudo_sum(sum))
        return false;
    return packet->left_at ? packet->left_at == sum->field_offset
                           : count_pseudo_sums(sums, count) == 1;
}

static bool is_local(const struct carry_capture_packet *packet,
                     const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct ends ends = carry_ends_of(&frame, sum);
    return carry_ends_are_local(&ends);
}

/* Returns the cause of an open sum in a packet that was received. No physical link transmits the
   note that a sum is left, so a packet with this note came over a virtual link. */
static enum carry_capture_cause cause_of_received(const struct carry_capture_packet *packet) {
    return packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT ? CARRY_CAPTURE_CAUSE_PASSED_ON
                                                         : CARRY_CAPTURE_CAUSE_RECEIVED;
}

static enum carry_capture_cause cause_of_open(const struct carry_capture_packet *packet,
                                              const struct carry_packet_sum *sum) {
    const enum carry_capture_cause causes[] = {
        [DIRECTION_UNKNOWN] = CARRY_CAPTURE_CAUSE_OFFLOAD,
        [DIRECTION_SENT] = CARRY_CAPTURE_CAUSE_SENT,
        [DIRECTION_RECEIVED] = cause_of_received(packet),
        [DIRECTION_LOCAL] = CARRY_CAPTURE_CAUSE_LOCAL,
    };
    return is_local(packet, sum) ? CARRY_CAPTURE_CAUSE_LOCAL : causes[carry_direction_of(packet)];
}

/* Checks whether a sum is not of an IP header, and is followed only by sums of IP headers and of
   quoted packets. */
static bool is_last_sum(const struct carry_packet_sum *sums, size_t count,
                        const struct carry_packet_sum *sum) {
    for (const struct carry_packet_sum *later = sum + 1; later < sums + count; later++)
        if (later->protocol != CARRY_PROTOCOL_IP && !later->quoted)
            return false;
    return sum->protocol != CARRY_PROTOCOL_IP;
}

static bool any_good_sum(const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (sums[i].verdict == CARRY_VERDICT_GOOD && sums[i].protocol != CARRY_PROTOCOL_IP)
            return true;
    return false;
}

/* Checks whether the packet's flags say that this bad sum is left to the card: by its offset or,
   without an offset, because it is the frame's last sum and no sum is open. */
static bool flagged_partial(const struct carry_capture_packet *packet,
                            const struct carry_packet_sum *sums, size_t count,
                            const struct carry_packet_sum *sum) {
    if (!(packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT))
        return false;
    if (packet->left_at)
        return packet->left_at == sum->field_offset;
    return !count_pseudo_sums(sums, count) && is_last_sum(sums, count, sum);
}

/* Checks whether the packet's flags call this bad sum valid. The flags do not say which sums were
   verified, so they count only if no sum is good, apart from sums of IP headers. They never mean
   the sums of IP headers. */
static bool flagged_valid(const struct carry_capture_packet *packet,
                          const struct carry_packet_sum *sums, size_t count,
                          const struct carry_packet_sum *sum) {
    return packet->flags & CARRY_CAPTURE_PACKET_SUM_VALID && sum->protocol != CARRY_PROTOCOL_IP &&
           !any_good_sum(sums, count);
}

bool carry_cause_contradicts(const struct carry_capture_packet *packet,
                             const struct carry_packet_sum *sums, size_t count) {
    const unsigned judged = 1u << CARRY_VERDICT_GOOD | 1u << CARRY_VERDICT_BAD;
    if (!(packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(judged >> sums[i].verdict & 1))
            return false;
    return count > 0;
}

/* Checks whether both sums cover the addresses of the same packet: `header` is the sum of its IPv4
   header; `other` is the sum of its content or, if an ICMP error quotes it, of the error. */
static bool cover_same_addresses(const struct carry_packet_sum *header,
                                 const struct carry_packet_sum *other) {
    if (header->protocol != CARRY_PROTOCOL_IP || other->verdict != CARRY_VERDICT_BAD)
        return false;
    if (header->reason == CARRY_REASON_QUOTED)
        return other->protocol == CARRY_PROTOCOL_ICMP;
    return header->verdict == CARRY_VERDICT_BAD && other->pseudo &&
           header->network_offset == other->network_offset;
}

/* Checks whether another sum over the same addresses is off by the same difference. */
static bool are_addresses_changed(const struct carry_packet_sum *sums, size_t count,
                                  const struct carry_packet_sum *sum) {
    const uint32_t difference = carry_cause_difference(sum);
    for (size_t i = 0; i < count; i++)
        if ((cover_same_addresses(sum, &sums[i]) || cover_same_addresses(&sums[i], sum)) &&
            carry_cause_difference(&sums[i]) == difference)
            return true;
    return false;
}

static struct evidence evidence_of_bad(const struct carry_capture_packet *packet,
                                       const struct carry_packet_sum *sums, size_t count,
                                       const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    struct evidence evidence = {.cause = carry_cause_of(&frame, sum)};
    if (!evidence.cause && are_addresses_changed(sums, count, sum))
        evidence.cause = CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED;
    if (flagged_partial(packet, sums, count, sum))
        evidence.cause = CARRY_CAPTURE_CAUSE_SAID_LEFT;
    else if (flagged_valid(packet, sums, count, sum))
        evidence.cause = CARRY_CAPTURE_CAUSE_SAID_VALID;
    if (evidence.cause == CARRY_CAPTURE_CAUSE_ONE_BIT)
        evidence.bit = bit_of(carry_cause_difference(sum));
    return evidence;
}

static struct evidence evidence_of_illegal(const struct carry_capture_packet *packet,
                                           const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    return (struct evidence){.cause = carry_cause_of(&frame, sum)};
}

static enum carry_capture_cause cause_of_partial(const struct carry_capture_packet *packet,
                                                 const struct carry_packet_sum *sums, size_t count,
                                                 size_t index) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct carry_packet_sum *sum = &sums[index];
    if (carry_local_headers_is_left(sum) && carry_local_headers_is_local(&frame, sum))
        return CARRY_CAPTURE_CAUSE_LOCAL;
    const enum carry_capture_cause cause = find_frame_cause(&frame, sums, count, index);
    return cause != CARRY_CAPTURE_CAUSE_INSIDE_GOOD && holds_pseudo_sum(sum)
               ? cause_of_open(packet, sum)
               : cause;
}

static struct evidence evidence_of_partial(const struct carry_capture_packet *packet,
                                           const struct carry_packet_sum *sums, size_t count,
                                           size_t index) {
    return (struct evidence){
        .cause = cause_of_partial(packet, sums, count, index),
        .certainty = is_certain(packet, sums, count, &sums[index]) ? CARRY_CAPTURE_CERTAIN
                                                                   : CARRY_CAPTURE_INFERRED,
    };
}

struct evidence carry_cause_find(const struct carry_capture_packet *packet,
                                 const struct carry_packet_sum *sums, size_t count, size_t index) {
    switch (sums[index].verdict) {
    case CARRY_VERDICT_BAD:
        return evidence_of_bad(packet, sums, count, &sums[index]);
    case CARRY_VERDICT_PARTIAL:
        return evidence_of_partial(packet, sums, count, index);
    case CARRY_VERDICT_ILLEGAL:
        return evidence_of_illegal(packet, &sums[index]);
    default:
        return (struct evidence){0};
    }
}

/* --- What other frames show --- */

void carry_cause_leave(struct carry_packet_sum *sum) {
    sum->verdict = CARRY_VERDICT_PARTIAL;
}

struct evidence carry_cause_left(void) {
    return (struct evidence){.cause = CARRY_CAPTURE_CAUSE_BY_SENDER,
                             .certainty = CARRY_CAPTURE_INFERRED};
}
