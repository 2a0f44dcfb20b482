/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

#include "ends.h"

/* --- Findings --- */

void carry_finding_describe(struct carry_capture_finding *finding,
                            const struct carry_capture_packet *packet,
                            const struct carry_packet_sum *sum, const struct evidence *evidence) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct ends ends = carry_ends_of(&frame, sum);
    *finding = (struct carry_capture_finding){
        .sum = *sum,
        .cause = evidence->cause,
        .number = packet->number,
        .time_ns = packet->time_ns,
        .offset = packet->offset + sum->field_offset,
        .from = ends.from,
        .to = ends.to,
        .from_port = ends.from_port,
        .to_port = ends.to_port,
        .certainty = evidence->certainty,
        .bit = evidence->bit,
    };
}

bool carry_capture_has_expected(const struct carry_packet_sum *sum) {
    const unsigned known =
        1u << CARRY_VERDICT_GOOD | 1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_PARTIAL;
    if (sum->verdict == CARRY_VERDICT_ILLEGAL)
        return sum->expected != 0;
    return sum->verdict < CARRY_VERDICT_COUNT && verdict_is_in(sum->verdict, known);
}

/* --- Tallies --- */

void carry_tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                               const struct carry_packet_sum *sum,
                               const struct evidence *evidence) {
    tally->causes[sum->protocol][evidence->cause]++;
    tally->certain[sum->protocol] += evidence->certainty == CARRY_CAPTURE_CERTAIN;
    if (sum->verdict != CARRY_VERDICT_UNVERIFIABLE)
        return;
    tally->reasons[sum->protocol][sum->reason]++;
    if (sum->reason == CARRY_REASON_SNAPLEN && frame->captured > tally->totals.longest_cut)
        tally->totals.longest_cut = frame->captured;
}

void carry_tally_supersede(struct tally *tally, unsigned protocol) {
    tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE]--;
    tally->reasons[protocol][CARRY_REASON_FRAGMENT]--;
    tally->causes[protocol][CARRY_CAPTURE_CAUSE_NONE]--;
}

static void merge_totals(struct carry_capture_totals *into,
                         const struct carry_capture_totals *from) {
    into->packets += from->packets;
    into->bytes += from->bytes;
    into->without += from->without;
    into->deeper += from->deeper;
    into->unknown_links += from->unknown_links;
    into->early += from->early;
    into->left_without += from->left_without;
    into->raw_ip += from->raw_ip;
    into->reassembled |= from->reassembled;
    into->unselected += from->unselected;
    if (from->longest_cut > into->longest_cut)
        into->longest_cut = from->longest_cut;
    if (from->first_ns - 1 < into->first_ns - 1) /* 0: not known */
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
}

static void add_counts(uint64_t *into, const uint64_t *from, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        into[i] += from[i];
}

/* Checks whether sums of a protocol were counted. If not, it has no reasons and causes either. */
static bool has_sums(const struct tally *tally, unsigned protocol) {
    uint64_t any = 0;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        any |= tally->counts[protocol][verdict];
    return any;
}

/* Skips protocols without sums, as each capture has few protocols: threads that check pieces of a
   capture wait for the one that merges their tallies. */
void carry_tally_merge(struct tally *into, const struct tally *from) {
    merge_totals(&into->totals, &from->totals);
    carry_timeline_merge(&into->timeline, &from->timeline);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (!has_sums(from, protocol))
            continue;
        into->certain[protocol] += from->certain[protocol];
        add_counts(into->causes[protocol], from->causes[protocol], CARRY_CAPTURE_CAUSE_COUNT);
        add_counts(into->counts[protocol], from->counts[protocol], CARRY_VERDICT_COUNT);
        add_counts(into->reasons[protocol], from->reasons[protocol], CARRY_REASON_COUNT);
    }
}

/* --- Summaries --- */

struct carry_capture_summary *carry_capture_summary_create(void) {
    struct carry_capture_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    summary->senders = calloc(CARRY_PROTOCOL_COUNT, sizeof *summary->senders);
    summary->headers = carry_header_senders_create();
    summary->flows = carry_flows_create();
    if (summary->senders && summary->headers && summary->flows)
        return summary;
    carry_capture_summary_free(summary);
    return NULL;
}

void carry_capture_summary_free(struct carry_capture_summary *summary) {
    if (!summary)
        return;
    carry_findings_close(&summary->findings);
    carry_header_senders_free(summary->headers);
    carry_flows_free(summary->flows);
    free(summary->senders);
    free(summary);
}

/* Checks whether senders were counted. Tables of senders that were never written are not read
   either, so that they use no memory: they are many pages per capture. */
static bool has_senders(const struct carry_capture_summary *summary, unsigned protocol,
                        unsigned verdict) {
    return verdict_is_finding(verdict) && summary->tally.counts[protocol][verdict];
}

bool carry_summary_clear(struct carry_capture_summary *summary, size_t findings) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (has_senders(summary, protocol, verdict))
                summary->senders[protocol][verdict] = (struct senders){0};
    carry_header_senders_clear(summary->headers);
    carry_flows_clear(summary->flows);
    *summary = (struct carry_capture_summary){.senders = summary->senders,
                                              .headers = summary->headers,
                                              .flows = summary->flows,
                                              .findings = summary->findings};
    return carry_findings_reserve(&summary->findings, findings);
}

/* Defers the verdicts on lone headers to the end of the capture, unless there is no room for their
   sender. */
unsigned carry_summary_add_sender(struct carry_capture_summary *summary,
                                  const struct carry_frame *frame,
                                  const struct carry_packet_sum *sum, bool alone) {
    const struct header_sender *waiting =
        alone ? NULL : carry_header_senders_add(summary->headers, frame, sum);
    struct sender own = {.count = 1};
    own.key.link = *carry_sender_link(&summary->link, frame, sum->network_offset);
    if (waiting && carry_header_senders_is_alone(sum)) {
        carry_header_senders_add_link(summary->headers, waiting, &own.key.link);
        return carry_header_senders_leaves(summary->headers, &waiting->key) ? CARRY_VERDICT_PARTIAL
                                                                            : CARRY_VERDICT_BAD;
    }
    own.key.address = carry_ends_of(frame, sum).from;
    carry_senders_add(&summary->senders[sum->protocol][sum->verdict], &own);
    return sum->verdict;
}

/* Counts packets of an unknown link type, but keeps at most UNKNOWN_LINKS types. */
static void add_unknown(struct carry_capture_summary *summary, uint32_t linktype,
                        uint64_t packets) {
    for (unsigned i = 0; i < UNKNOWN_LINKS; i++) {
        struct unknown_link *link = &summary->unknown[i];
        if (i == summary->unknown_used) {
            summary->unknown_used++;
            link->linktype = linktype;
        }
        if (link->linktype == linktype) {
            link->packets += packets;
            return;
        }
    }
}

void carry_summary_add_unknown(struct carry_capture_summary *summary,
                               const struct carry_capture_packet *packet) {
    struct carry_capture_totals *totals = &summary->tally.totals;
    carry_totals_add(totals, packet);
    totals->unknown_links++;
    add_unknown(summary, packet->linktype, 1);
}

void carry_capture_summary_merge(struct carry_capture_summary *into,
                                 const struct carry_capture_summary *from) {
    carry_tally_merge(&into->tally, &from->tally);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (has_senders(from, protocol, verdict))
                carry_senders_merge(&into->senders[protocol][verdict],
                                    &from->senders[protocol][verdict]);
    for (unsigned i = 0; i < from->unknown_used; i++)
        add_unknown(into, from->unknown[i].linktype, from->unknown[i].packets);
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++)
        into->reassembly[i] += from->reassembly[i];
}

/* --- Headers that are left to network cards --- */

/* Counts the lone headers of one sender when all packets of the sender are known. */
static void settle_sender(struct carry_capture_summary *summary,
                          const struct header_sender *sender) {
    const bool leaves = carry_header_senders_leaves(summary->headers, &sender->key);
    unsigned verdict = leaves ? CARRY_VERDICT_PARTIAL : CARRY_VERDICT_BAD;
    struct sender own = {.key.link = sender->link, .count = sender->alone};
    own.key.address.version = 4;
    memcpy(own.key.address.bytes, sender->key.address, sizeof sender->key.address);
    carry_senders_add(&summary->senders[CARRY_PROTOCOL_IP][verdict], &own);
    summary->tally.totals.early += leaves ? sender->early : 0;
}

void carry_summary_settle(struct carry_capture_summary *summary, unsigned listed) {
    struct tally *tally = &summary->tally;
    size_t count;
    const struct header_sender *list = carry_header_senders_list(summary->headers, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].alone)
            settle_sender(summary, &list[i]);
    uint64_t left = carry_header_senders_left(summary->headers);
    tally->counts[CARRY_PROTOCOL_IP][CARRY_VERDICT_BAD] -= left;
    tally->counts[CARRY_PROTOCOL_IP][CARRY_VERDICT_PARTIAL] += left;
    tally->causes[CARRY_PROTOCOL_IP][CARRY_CAPTURE_CAUSE_ZERO] -= left;
    tally->causes[CARRY_PROTOCOL_IP][CARRY_CAPTURE_CAUSE_BY_SENDER] += left;
    carry_flows_move(summary->flows, summary->headers, tally->causes);
    carry_findings_settle(&summary->findings, summary->headers, summary->flows, listed);
}

/* --- Reading a summary --- */

const struct carry_capture_totals *
carry_capture_totals(const struct carry_capture_summary *summary) {
    return &summary->tally.totals;
}

uint64_t carry_capture_count(const struct carry_capture_summary *summary, unsigned protocol,
                             unsigned verdict) {
    if (protocol >= CARRY_PROTOCOL_COUNT || verdict >= CARRY_VERDICT_COUNT)
        return 0;
    return summary->tally.counts[protocol][verdict];
}

uint64_t carry_capture_total(const struct carry_capture_summary *summary, unsigned verdicts) {
    uint64_t total = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (verdict_is_in(verdict, verdicts))
                total += summary->tally.counts[protocol][verdict];
    return total;
}

uint64_t carry_capture_reason_count(const struct carry_capture_summary *summary, unsigned protocol,
                                    unsigned reason) {
    if (protocol >= CARRY_PROTOCOL_COUNT || reason >= CARRY_REASON_COUNT)
        return 0;
    return summary->tally.reasons[protocol][reason];
}

uint64_t carry_capture_cause_count(const struct carry_capture_summary *summary, unsigned protocol,
                                   unsigned cause) {
    if (protocol >= CARRY_PROTOCOL_COUNT || cause >= CARRY_CAPTURE_CAUSE_COUNT)
        return 0;
    return summary->tally.causes[protocol][cause];
}

uint64_t carry_capture_certain_count(const struct carry_capture_summary *summary,
                                     unsigned protocol) {
    return protocol < CARRY_PROTOCOL_COUNT ? summary->tally.certain[protocol] : 0;
}

uint64_t carry_capture_reassembly_count(const struct carry_capture_summary *summary,
                                        unsigned reassembly) {
    return reassembly < CARRY_CAPTURE_REASSEMBLY_COUNT ? summary->reassembly[reassembly] : 0;
}

bool carry_capture_span(const struct carry_capture_summary *summary, size_t index,
                        uint64_t *from_ns, uint64_t *to_ns) {
    const struct timeline *timeline = &summary->tally.timeline;
    if (index >= timeline->used)
        return false;
    const uint64_t width = UINT64_C(1) << timeline->shift;
    *from_ns = (timeline->first + index) << timeline->shift;
    *to_ns = *from_ns + width < *from_ns ? UINT64_MAX : *from_ns + width;
    return true;
}

uint64_t carry_capture_span_count(const struct carry_capture_summary *summary, size_t index,
                                  unsigned verdict) {
    const struct timeline *timeline = &summary->tally.timeline;
    return index < timeline->used && verdict < CARRY_VERDICT_COUNT
               ? timeline->counts[index][verdict]
               : 0;
}

size_t carry_capture_senders(const struct carry_capture_summary *summary, unsigned protocol,
                             unsigned verdict, bool by_address,
                             struct carry_capture_sender *senders, size_t capacity,
                             bool *complete) {
    const bool known = protocol < CARRY_PROTOCOL_COUNT && verdict < CARRY_VERDICT_COUNT &&
                       has_senders(summary, protocol, verdict);
    const struct senders *from = known ? &summary->senders[protocol][verdict] : NULL;
    if (complete)
        *complete = !from || !from->overflowed;
    return from ? carry_senders_list(from, by_address, senders, capacity) : 0;
}

bool carry_capture_unknown_link(const struct carry_capture_summary *summary, size_t index,
                                uint32_t *linktype, uint64_t *packets) {
    if (index >= summary->unknown_used)
        return false;
    *linktype = summary->unknown[index].linktype;
    *packets = summary->unknown[index].packets;
    return true;
}

const struct carry_capture_finding *carry_capture_kept(const struct carry_capture_summary *summary,
                                                       size_t index) {
    return index < summary->findings.count ? &summary->findings.list[index].finding : NULL;
}

enum carry_capture_outcome carry_capture_outcome(const struct carry_capture_summary *summary,
                                                 unsigned wrong) {
    const unsigned verified = 1u << CARRY_VERDICT_GOOD | 1u << CARRY_VERDICT_PARTIAL;
    if (carry_capture_total(summary, wrong))
        return CARRY_CAPTURE_WRONG;
    return carry_capture_total(summary, verified) ? CARRY_CAPTURE_CLEAN : CARRY_CAPTURE_UNCHECKED;
}

static uint64_t count_zeros(const struct carry_capture_summary *summary) {
    uint64_t zeros = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        zeros += summary->tally.causes[protocol][CARRY_CAPTURE_CAUSE_ZERO];
    return zeros;
}

bool carry_capture_is_all_zero(const struct carry_capture_summary *summary) {
    const unsigned others =
        1u << CARRY_VERDICT_GOOD | 1u << CARRY_VERDICT_PARTIAL | 1u << CARRY_VERDICT_UNVERIFIABLE;
    return carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS) &&
           !carry_capture_total(summary, others) &&
           carry_capture_total(summary, 1u << CARRY_VERDICT_BAD) == count_zeros(summary);
}

const char *carry_capture_outcome_name(unsigned outcome) {
    static const char *const names[] = {
        [CARRY_CAPTURE_CLEAN] = "clean",
        [CARRY_CAPTURE_WRONG] = "wrong",
        [CARRY_CAPTURE_UNCHECKED] = "unchecked",
    };
    return outcome < sizeof names / sizeof *names ? names[outcome] : "unknown";
}

bool carry_capture_is_complete(const struct carry_capture_summary *summary, unsigned wrong) {
    const struct carry_capture_totals *totals = &summary->tally.totals;
    return carry_capture_outcome(summary, wrong) != CARRY_CAPTURE_UNCHECKED &&
           !totals->unknown_links && !totals->deeper &&
           !carry_capture_total(summary, 1u << CARRY_VERDICT_UNVERIFIABLE);
}
