/* SPDX-License-Identifier: MIT */
#include "capture/tally.h"

#include <stdlib.h>
#include <string.h>

/* The addresses of the IP header that a sum belongs to, as far as they were captured. */
static void find_addresses(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                           struct address *from, struct address *to) {
    size_t size = sum->version == 6 ? 16 : 4;
    size_t offset = sum->network_offset + (sum->version == 6 ? (size_t)8 : 12);
    const uint8_t *bytes = (const uint8_t *)frame->data + offset;
    *from = *to = (struct address){0};
    if (!sum->version || offset + 2 * size > frame->captured)
        return;
    from->version = to->version = sum->version;
    memcpy(from->bytes, bytes, size);
    memcpy(to->bytes, bytes + size, size);
}

static bool has_ports(unsigned protocol) {
    return protocol == CARRY_PROTOCOL_TCP || protocol == CARRY_PROTOCOL_UDP ||
           protocol == CARRY_PROTOCOL_UDPLITE;
}

void tally_describe(struct finding *finding, const struct packet *packet,
                    const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    *finding = (struct finding){
        .sum = *sum,
        .frame = packet->number,
        .time_ns = packet->time_ns,
        .offset = packet->offset + sum->field_offset,
        .from_port = -1,
        .to_port = -1,
    };
    find_addresses(frame, sum, &finding->from, &finding->to);
    if (has_ports(sum->protocol) && (uint64_t)sum->cover_offset + 4 <= frame->captured) {
        const uint8_t *ports = (const uint8_t *)frame->data + sum->cover_offset;
        finding->from_port = ports[0] << 8 | ports[1];
        finding->to_port = ports[2] << 8 | ports[3];
    }
}

/* A header that stands alone waits for the end of the capture, unless there is no room for that. */
unsigned tally_add_sender(struct tally *tally, const struct carry_frame *frame,
                          const struct carry_packet_sum *sum) {
    const struct header_sender *waiting = header_senders_add(tally->headers, frame, sum);
    struct sender who = {.count = 1};
    struct address to;
    who.key.link = *sender_link(&tally->link, frame, sum->network_offset);
    if (waiting && header_senders_is_alone(sum)) {
        header_senders_add_link(tally->headers, waiting, &who.key.link);
        return waiting->leaves ? CARRY_VERDICT_PARTIAL : CARRY_VERDICT_BAD;
    }
    find_addresses(frame, sum, &who.key.address, &to);
    senders_add(&tally->senders[sum->protocol][sum->verdict], &who);
    return sum->verdict;
}

/* --- Headers that are left to network cards --- */

/* Adds those of one sender, who had to wait. */
static void settle_sender(struct tally *tally, const struct header_sender *sender) {
    unsigned verdict = sender->leaves ? CARRY_VERDICT_PARTIAL : CARRY_VERDICT_BAD;
    struct sender who = {.key.link = sender->link, .count = sender->alone};
    who.key.address.version = 4;
    memcpy(who.key.address.bytes, sender->address, sizeof sender->address);
    senders_add(&tally->senders[CARRY_PROTOCOL_IP][verdict], &who);
}

void tally_settle(struct tally *tally) {
    size_t count;
    const struct header_sender *list = header_senders_list(tally->headers, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].alone)
            settle_sender(tally, &list[i]);
    uint64_t left = header_senders_left(tally->headers);
    tally->counts[CARRY_PROTOCOL_IP][CARRY_VERDICT_BAD] -= left;
    tally->counts[CARRY_PROTOCOL_IP][CARRY_VERDICT_PARTIAL] += left;
    tally->causes[CARRY_PROTOCOL_IP][CAUSE_ZERO] -= left;
    tally->causes[CARRY_PROTOCOL_IP][CAUSE_BY_SENDER] += left;
}

bool tally_is_left(const struct tally *tally, const struct carry_packet_sum *sum,
                   const struct address *from) {
    return header_senders_is_alone(sum) && header_senders_leaves(tally->headers, from->bytes);
}

uint64_t tally_called_bad(const struct tally *tally) {
    uint64_t early = 0;
    size_t count;
    const struct header_sender *list = header_senders_list(tally->headers, &count);
    for (size_t i = 0; i < count; i++)
        early += list[i].leaves ? list[i].early : 0;
    return early;
}

/* --- Tallies --- */

struct tally *tally_new(void) {
    struct tally *tally = calloc(1, sizeof *tally);
    if (!tally)
        return NULL;
    tally->senders = calloc(CARRY_PROTOCOL_COUNT, sizeof *tally->senders);
    tally->headers = header_senders_create();
    if (tally->senders && tally->headers)
        return tally;
    tally_free(tally);
    return NULL;
}

/* What was never written to is not read either: it is many pages, for each of many captures. */
bool tally_has_senders(const struct tally *tally, unsigned protocol, unsigned verdict) {
    return tally_names(verdict) && tally->counts[protocol][verdict];
}

void tally_clear(struct tally *tally) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (tally_has_senders(tally, protocol, verdict))
                tally->senders[protocol][verdict] = (struct senders){0};
    header_senders_clear(tally->headers);
    *tally = (struct tally){.senders = tally->senders, .headers = tally->headers};
}

void tally_free(struct tally *tally) {
    if (!tally)
        return;
    header_senders_free(tally->headers);
    free(tally->senders);
    free(tally);
}

bool tally_names(unsigned verdict) {
    return tally_is_in(verdict, TALLY_WRONG) || verdict == CARRY_VERDICT_PARTIAL;
}

bool tally_has_expected(const struct carry_packet_sum *sum) {
    if (sum->verdict == CARRY_VERDICT_ILLEGAL)
        return sum->expected != 0;
    return sum->verdict != CARRY_VERDICT_ABSENT && sum->verdict != CARRY_VERDICT_UNVERIFIABLE;
}

void tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                         const struct carry_packet_sum *sum) {
    tally->causes[sum->protocol][cause_of(sum)]++;
    if (sum->verdict != CARRY_VERDICT_UNVERIFIABLE)
        return;
    tally->reasons[sum->protocol][sum->reason]++;
    if (sum->reason == CARRY_REASON_SNAPLEN && frame->captured > tally->longest_cut)
        tally->longest_cut = frame->captured;
}

/* Packets of a link type; those beyond UNKNOWN_LINKS types have only their number in common. */
static void add_unknown(struct tally *tally, uint32_t linktype, uint64_t packets) {
    for (unsigned i = 0; i < UNKNOWN_LINKS; i++) {
        struct unknown_link *link = &tally->unknown[i];
        if (i == tally->unknown_used) {
            tally->unknown_used++;
            link->linktype = linktype;
        }
        if (link->linktype == linktype) {
            link->packets += packets;
            return;
        }
    }
    tally->unknown_others += packets;
}

void tally_add_unknown(struct tally *tally, const struct packet *packet) {
    tally->packets++;
    tally->bytes += packet->captured;
    add_unknown(tally, packet->linktype, 1);
}

uint64_t tally_unknown(const struct tally *tally) {
    uint64_t packets = tally->unknown_others;
    for (unsigned i = 0; i < tally->unknown_used; i++)
        packets += tally->unknown[i].packets;
    return packets;
}

void tally_supersede(struct tally *tally, unsigned protocol) {
    tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE]--;
    tally->reasons[protocol][CARRY_REASON_FRAGMENT]--;
}

uint64_t tally_total(const struct tally *tally, unsigned verdict) {
    uint64_t total = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        total += tally->counts[protocol][verdict];
    return total;
}

uint64_t tally_total_of(const struct tally *tally, unsigned set) {
    uint64_t total = 0;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (tally_is_in(verdict, set))
            total += tally_total(tally, verdict);
    return total;
}

bool tally_has(const struct tally *tally, unsigned protocol) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (tally->counts[protocol][verdict])
            return true;
    return false;
}

void tally_merge(struct tally *into, const struct tally *from) {
    into->packets += from->packets;
    into->bytes += from->bytes;
    into->without += from->without;
    into->deeper += from->deeper;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            into->causes[protocol][cause] += from->causes[protocol][cause];
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            into->counts[protocol][verdict] += from->counts[protocol][verdict];
        for (unsigned reason = 0; reason < CARRY_REASON_COUNT; reason++)
            into->reasons[protocol][reason] += from->reasons[protocol][reason];
    }
    if (from->longest_cut > into->longest_cut)
        into->longest_cut = from->longest_cut;
}

void tally_merge_all(struct tally *into, const struct tally *from) {
    tally_merge(into, from);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (tally_has_senders(from, protocol, verdict))
                senders_merge(&into->senders[protocol][verdict], &from->senders[protocol][verdict]);
    for (unsigned i = 0; i < from->unknown_used; i++)
        add_unknown(into, from->unknown[i].linktype, from->unknown[i].packets);
    into->unknown_others += from->unknown_others;
}

/* --- What it says --- */

enum outcome tally_outcome(const struct tally *tally, unsigned wrong) {
    const unsigned verified = 1u << CARRY_VERDICT_GOOD | 1u << CARRY_VERDICT_PARTIAL;
    if (tally_total_of(tally, wrong))
        return OUTCOME_WRONG;
    return tally_total_of(tally, verified) ? OUTCOME_CLEAN : OUTCOME_UNCHECKED;
}

const char *outcome_name(enum outcome outcome) {
    static const char *const names[] = {
        [OUTCOME_CLEAN] = "clean",
        [OUTCOME_WRONG] = "wrong",
        [OUTCOME_UNCHECKED] = "unchecked",
    };
    return names[outcome];
}

uint64_t tally_skipped(const struct tally *tally) {
    return tally_unknown(tally) + tally->deeper;
}

bool tally_is_complete(const struct tally *tally, unsigned wrong) {
    return tally_outcome(tally, wrong) != OUTCOME_UNCHECKED && !tally_skipped(tally) &&
           !tally_total(tally, CARRY_VERDICT_UNVERIFIABLE);
}
