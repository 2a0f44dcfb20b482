/* SPDX-License-Identifier: MIT */
/* Explains verdicts, causes and link types as text for people. */
#include <stddef.h>

#include <carry/sum.h>

#include "cause.h"

/* --- Reasons and link types --- */

static const struct {
    const char *of_many, *of_one;
} reasons[CARRY_REASON_COUNT] = {
#define CARRY_REASON_TEXT(reason, of_many, of_one) [CARRY_REASON_##reason] = {of_many, of_one},
#include "reasons.def"
#undef CARRY_REASON_TEXT
};

const char *carry_capture_reason_text(unsigned reason) {
    const char *text = reason < CARRY_REASON_COUNT ? reasons[reason].of_many : NULL;
    return text ? text : carry_packet_reason_name(reason);
}

const char *carry_capture_describe_link(uint32_t linktype) {
    switch (linktype) {
#define CARRY_LINKTYPE(value, name)                                                                \
    case value:                                                                                    \
        return name;
#include "link_names.def"
#undef CARRY_LINKTYPE
    default:
        return NULL;
    }
}

/* --- Verdicts --- */

/* Checks whether the sum of the bytes on the wire verifies, though a length says that there were
   more bytes. */
static bool verifies_as_it_is(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    const uint8_t *cover = (const uint8_t *)frame->data + sum->cover_offset;
    bool is_there = frame->captured >= frame->wire && sum->field_size == 2 && !sum->gap_size &&
                    sum->field_offset + 2 <= frame->captured;
    return is_there && carry_sum_finish(
                           carry_sum(cover, frame->captured - sum->cover_offset, sum->pseudo)) == 0;
}

static const char *why_unverifiable(const struct carry_frame *frame,
                                    const struct carry_packet_sum *sum) {
    if (sum->cause == CARRY_CAUSE_HEADER)
        return "it holds 0, and the capture cut off the bytes that would show whether transmit "
               "offload left it to the network card";
    if (sum->reason == CARRY_REASON_LENGTH && verifies_as_it_is(frame, sum))
        return "a length goes beyond the bytes on the wire, or the enclosing packet; the bytes on "
               "the wire verify by themselves";
    const char *sentence = sum->reason < CARRY_REASON_COUNT ? reasons[sum->reason].of_one : NULL;
    return sentence ? sentence : carry_packet_reason_name(sum->reason);
}

static const char *const sentences[CARRY_CAPTURE_CAUSE_COUNT] = {
    [CARRY_CAPTURE_CAUSE_NONE] = "it does not match the bytes that it covers",
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice)                        \
    [CARRY_CAPTURE_CAUSE_##id] = "it " one,
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
};

static const char *why_illegal(const struct carry_frame *frame,
                               const struct carry_packet_sum *sum) {
    const enum carry_capture_cause cause = carry_cause_of(frame, sum);
    return cause ? sentences[cause]
                 : "0 says that there is none, though the protocol demands one here";
}

const char *carry_capture_why(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    switch (sum->verdict) {
    case CARRY_VERDICT_GOOD:
        return "it matches the bytes that it covers";
    case CARRY_VERDICT_BAD:
    case CARRY_VERDICT_PARTIAL:
        return sentences[carry_cause_of(frame, sum)];
    case CARRY_VERDICT_ABSENT:
        return sum->stored ? "the header marks it as unused"
                           : "0 says that the sender chose to send none";
    case CARRY_VERDICT_ILLEGAL:
        return why_illegal(frame, sum);
    default:
        return why_unverifiable(frame, sum);
    }
}

/* --- Rules --- */

/* Returns the first covered byte, which holds the type of the message; 0 if it was not captured. */
static unsigned first_byte(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    const uint8_t *data = frame->data;
    return sum->cover_offset < frame->captured ? data[sum->cover_offset] : 0;
}

#define PIM_REGISTER      0x21 /* version 2, type 1 */
#define PIM_REGISTER_SIZE 8

static const char *rule_of_pim(const struct carry_frame *frame,
                               const struct carry_packet_sum *sum) {
    if (first_byte(frame, sum) != PIM_REGISTER)
        return NULL;
    if (sum->cover_size == PIM_REGISTER_SIZE)
        return "the checksum of a Register message covers its header, not the packet in it (RFC "
               "7761, section 4.9)";
    return "the checksum of a Register message may also cover the packet in it, as some senders "
           "compute it (RFC 7761, section 4.9)";
}

static const char *rule_of_vrrp(const struct carry_frame *frame,
                                const struct carry_packet_sum *sum) {
    if (sum->version != 4 || first_byte(frame, sum) >> 4 != 3)
        return NULL;
    if (sum->pseudo)
        return "version 3 has a pseudo-header (RFC 5798, section 5.2.8)";
    return "version 3 may omit the pseudo-header over IPv4, as some senders do";
}

static const char *rule_of_udp(const struct carry_packet_sum *sum) {
    if (sum->version != 6)
        return NULL;
    if (sum->verdict == CARRY_VERDICT_ABSENT)
        return "over IPv6 a tunnel may omit the checksum, and the port is that of a tunnel (RFC "
               "6935)";
    if (sum->verdict == CARRY_VERDICT_ILLEGAL)
        return "over IPv6 only tunnels may omit the checksum (RFC 8200, section 8.1; RFC 6935)";
    return NULL;
}

static const char *rule_of_absent(const struct carry_packet_sum *sum) {
    if (sum->verdict != CARRY_VERDICT_ABSENT)
        return NULL;
    switch (sum->protocol) {
    case CARRY_PROTOCOL_SCTP:
        return "both ends agreed on 0 (RFC 9653), or transmit offload left it to the network card";
    case CARRY_PROTOCOL_OSPF:
        return "authentication replaces it (RFC 2328, section D.4; RFC 7166)";
    default:
        return NULL;
    }
}

const char *carry_capture_rule(const struct carry_frame *frame,
                               const struct carry_packet_sum *sum) {
    switch (sum->protocol) {
    case CARRY_PROTOCOL_UDP:
        return rule_of_udp(sum);
    case CARRY_PROTOCOL_PIM:
        return rule_of_pim(frame, sum);
    case CARRY_PROTOCOL_VRRP:
        return rule_of_vrrp(frame, sum);
    default:
        return rule_of_absent(sum);
    }
}

const char *carry_capture_why_found(const struct carry_frame *frame,
                                    const struct carry_capture_finding *finding) {
    return finding->cause && finding->cause < CARRY_CAPTURE_CAUSE_COUNT
               ? sentences[finding->cause]
               : carry_capture_why(frame, &finding->sum);
}
