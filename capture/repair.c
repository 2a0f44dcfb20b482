/* SPDX-License-Identifier: MIT */
#include "repair.h"

#include <stdlib.h>

#include "cause.h"
#include "local_headers.h"
#include "pcapng.h"
#include "verdict.h"

/* The sums of a frame or a datagram, with their latest verdicts. */
struct judged {
    const struct carry_packet_sum *sums;
    size_t count;
    bool cut; /* the capture truncated the frame or datagram */
};

/* --- Sums that are left unrepaired --- */

static bool asks_for(const struct carry_packet_options *options, unsigned verdict) {
    return options->fix ? verdict_is_in(verdict, options->fix) : verdict_is_finding(verdict);
}

static bool wants_repair(const struct repair *repair, unsigned verdict) {
    return asks_for(&repair->options.packet, verdict);
}

bool carry_repair_wants_either_only(const struct carry_packet_options *options) {
    return asks_for(options, CARRY_VERDICT_BAD) != asks_for(options, CARRY_VERDICT_PARTIAL);
}

static bool covers_field(const struct carry_packet_sum *outer,
                         const struct carry_packet_sum *inner) {
    return inner->field_offset >= outer->cover_offset &&
           inner->field_offset - outer->cover_offset < outer->cover_size;
}

/* Returns why a sum with this verdict is left unrepaired, when no reason from outside `judged`
   applies. */
static enum carry_capture_left why_left(const struct repair *repair, const struct judged *judged,
                                        const struct carry_packet_sum *sum, unsigned verdict) {
    if (!wants_repair(repair, verdict))
        return CARRY_CAPTURE_LEFT_ONLY;
    if (sum->quoted)
        return CARRY_CAPTURE_LEFT_QUOTED;
    for (const struct carry_packet_sum *outer = judged->sums; outer < sum; outer++) {
        bool unverifiable = outer->verdict == CARRY_VERDICT_UNVERIFIABLE;
        if (!covers_field(outer, sum) || (unverifiable && outer->quoted))
            continue;
        if (unverifiable)
            return CARRY_CAPTURE_LEFT_COVERED;
        if (outer->verdict == CARRY_VERDICT_PARTIAL && outer->expected == outer->stored)
            return CARRY_CAPTURE_LEFT_PARTIAL;
    }
    if (sum->cause == CARRY_CAUSE_ADLER32 && !repair->options.packet.fix)
        return CARRY_CAPTURE_LEFT_ADLER32;
    return judged->cut ? CARRY_CAPTURE_LEFT_SNAPLEN : CARRY_CAPTURE_LEFT_UNCERTAIN;
}

static void report_change(struct repair *repair, const struct carry_capture_change *change) {
    if (repair->options.change && !repair->cancelled)
        repair->cancelled = !repair->options.change(repair->options.user, change);
}

static struct carry_capture_change left_change(const struct carry_capture_change *change,
                                               enum carry_capture_left reason) {
    struct carry_capture_change left = *change;
    left.is_left = true;
    left.left = reason;
    return left;
}

static void leave_sum(struct repair *repair, const struct carry_capture_change *change,
                      enum carry_capture_left reason) {
    const struct carry_capture_change left = left_change(change, reason);
    carry_repairs_leave(repair->repairs, &left);
    report_change(repair, &left);
}

/* --- Senders of headers that hold 0 --- */

/* Checks whether the sum's IP header was captured. The bytes of a datagram end at its first gap,
   but a later fragment may contain a whole IP header. */
static bool has_sender(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    return (uint64_t)sum->network_offset + 20 <= frame->captured;
}

static bool is_left_by_sender(const struct repair *repair, const struct carry_frame *frame,
                              const struct carry_packet_sum *sum) {
    if (!carry_header_senders_is_alone(sum) || !has_sender(frame, sum))
        return false;
    const struct header_key key = carry_header_senders_key(repair->known, frame, sum);
    return carry_header_senders_leaves(repair->known, &key);
}

/* Judges a frame like carry_capture_check(). */
static size_t judge_frame(const struct repair *repair, const struct carry_frame *frame,
                          struct carry_packet_sum *sums, struct carry_packet_fragment *fragment) {
    const size_t count = carry_packet_check_fragment(frame, &repair->options.packet, sums,
                                                     CARRY_PACKET_SUMS_MAX, fragment);
    carry_local_headers_leave(frame, sums, count);
    return count;
}

static void learn_sums(struct repair *repair, const struct carry_frame *frame,
                       const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        carry_header_senders_add(repair->known, frame, &sums[i]);
}

/* Learns from the sums that the first fragment left unverifiable, as they were before any repair;
   carry check does the same. */
static void learn_datagram(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = carry_capture_frame(&datagram->packet);
    learn_sums(repair, &frame, datagram->changes, datagram->changes_count);
    learn_sums(repair, &frame, datagram->fresh, datagram->fresh_count);
}

void carry_repair_learn(struct repair *repair, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const struct carry_frame frame = carry_capture_frame(packet);
    size_t count = judge_frame(repair, &frame, sums, &fragment);
    learn_sums(repair, &frame, sums, count);
    if (!fragment.version)
        return;
    for (const struct datagram *datagram =
             carry_reassembler_add(repair->learner, packet, &fragment, sums, count);
         datagram; datagram = carry_reassembler_next(repair->learner))
        learn_datagram(repair, datagram);
}

void carry_repair_learned(struct repair *repair) {
    carry_reassembler_end(repair->learner);
}

/* Checks whether an IPv4 header's sum is known to be left to a network card, by other frames of its
   sender or by its own packet. */
static bool is_left_header(const struct repair *repair, const struct carry_frame *frame,
                           const struct carry_packet_sum *sum) {
    return carry_local_headers_is_left(sum) || is_left_by_sender(repair, frame, sum);
}

/*
 * Returns the flag for the repair of a frame: CARRY_PACKET_IP_ZERO_PARTIAL if the frame contains a
 * header that is left, unless the flag would turn another sum of the frame partial.
 */
static uint32_t repair_flags(const struct repair *repair, const struct carry_frame *frame,
                             const struct carry_packet_sum *sums, size_t count) {
    struct carry_packet_options known = repair->options.packet;
    struct carry_packet_sum judged[CARRY_PACKET_SUMS_MAX];
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += is_left_header(repair, frame, &sums[i]);
    if (!left)
        return 0;
    known.flags |= CARRY_PACKET_IP_ZERO_PARTIAL;
    carry_packet_check(frame, &known, judged, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict != sums[i].verdict && !is_left_header(repair, frame, &sums[i]))
            return 0;
    return CARRY_PACKET_IP_ZERO_PARTIAL;
}

/* Checks whether all fragments can still be changed, in the window or in the written copy. */
static bool is_in_reach(const struct repair *repair, const struct source *sources) {
    if (!repair->sink || repair->sink->rewrite)
        return true;
    for (const struct source *source = sources; source; source = source->next)
        if (source->offset < carry_input_start(&repair->capture->input))
            return false;
    return true;
}

/* Prepares the repair of a datagram: a reassembler_repair_fn. */
static bool prepare_datagram(void *context, const struct carry_frame *datagram,
                             const struct source *sources, uint32_t *flags) {
    const struct repair *repair = context;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const size_t count = judge_frame(repair, datagram, sums, &fragment);
    *flags = repair_flags(repair, datagram, sums, count);
    return is_in_reach(repair, sources);
}

/* Counts a header that was repaired because it was bad: later packets may show that it was left to
   a network card. */
static void count_lone_header(struct repair *repair, const struct carry_frame *frame,
                              const struct carry_packet_sum *change) {
    size_t count;
    const struct header_sender *first = carry_header_senders_list(repair->known, &count);
    const struct header_key key = carry_header_senders_key(repair->known, frame, change);
    const struct header_sender *sender = carry_header_senders_find(repair->known, &key);
    if (sender)
        repair->called_bad[sender - first]++;
}

static void settle_repaired(struct repair *repair) {
    size_t count;
    const struct header_sender *senders = carry_header_senders_list(repair->known, &count);
    uint64_t *repaired = repair->repairs->repaired[CARRY_PROTOCOL_IP];
    for (size_t i = 0; i < count; i++) {
        const bool leaves = carry_header_senders_leaves(repair->known, &senders[i].key);
        const uint64_t left = leaves ? repair->called_bad[i] : 0;
        repaired[CARRY_VERDICT_BAD] -= left;
        repaired[CARRY_VERDICT_PARTIAL] += left;
    }
}

/* --- A frame --- */

static bool any_wanted(const struct repair *repair, const struct carry_packet_sum *sums,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (wants_repair(repair, sums[i].verdict))
            return true;
    return false;
}

static struct carry_capture_change in_frame(const struct carry_capture_packet *packet,
                                            const struct carry_packet_sum *sum) {
    return (struct carry_capture_change){
        .sum = sum,
        .number = packet->number,
        .field_number = packet->number,
        .offset = packet->offset + sum->field_offset,
        .size = sum->field_size,
    };
}

static void count_changes(struct repair *repair, const struct carry_capture_packet *packet,
                          const struct carry_packet_sum *changes, size_t count) {
    const struct carry_frame frame = carry_capture_frame(packet);
    repair->repairs->totals.changed_packets += count > 0;
    for (size_t i = 0; i < count; i++) {
        const struct carry_capture_change change = in_frame(packet, &changes[i]);
        carry_spans_add(&repair->changed, change.offset, change.offset + change.size);
        repair->repairs->repaired[changes[i].protocol][changes[i].verdict]++;
        if (carry_header_senders_is_alone(&changes[i]))
            count_lone_header(repair, &frame, &changes[i]);
        report_change(repair, &change);
    }
}

static size_t count_partial(const struct carry_packet_sum *sums, size_t count) {
    size_t partial = 0;
    for (size_t i = 0; i < count; i++)
        partial += sums[i].verdict == CARRY_VERDICT_PARTIAL;
    return partial;
}

/* Clears the flag SUM_LEFT of a packet once all its partial sums are complete. */
static void settle_flags(struct repair *repair, const struct carry_capture_packet *packet,
                         const struct carry_packet_sum *changes, size_t changed,
                         const struct judged *judged) {
    if (packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT && count_partial(changes, changed) &&
        !count_partial(judged->sums, judged->count)) {
        const uint64_t offset = carry_pcapng_clear_left(repair->capture);
        carry_spans_add(&repair->changed, offset, offset + PCAPNG_FLAGS_BYTES);
    }
}

/*
 * Counts in `waiting` a lone header that is left unrepaired: only the whole copy shows whether its
 * sender leaves headers to its network card. Reports the header with the verdict known so far.
 */
static void leave_header(struct repair *repair, const struct header_sender *sender,
                         const struct carry_capture_change *left, enum carry_capture_left reason) {
    size_t count;
    const struct header_sender *first = carry_header_senders_list(repair->headers, &count);
    struct carry_packet_sum known = *left->sum; /* the callback gets the verdict known so far */
    struct carry_capture_change logged = left_change(left, reason);
    logged.sum = &known;
    if (carry_header_senders_leaves(repair->headers, &sender->key))
        carry_cause_leave(&known);
    carry_group_add(&repair->waiting[sender - first][left_slot(reason)], left->number);
    report_change(repair, &logged);
}

/* Reports a sum of a frame or datagram as left unrepaired; the offsets of `sum` count from that
   frame or datagram. */
static void leave_by_sender(struct repair *repair, const struct carry_frame *frame,
                            const struct carry_packet_sum *sum,
                            const struct carry_capture_change *left,
                            enum carry_capture_left reason) {
    const struct header_sender *sender =
        has_sender(frame, sum) ? carry_header_senders_add(repair->headers, frame, sum) : NULL;
    if (sender && carry_header_senders_is_alone(sum))
        leave_header(repair, sender, left, reason);
    else
        leave_sum(repair, left, reason);
}

/* Returns the verdict on a sum by all that is known about its sender. */
static unsigned verdict_of(const struct repair *repair, const struct carry_frame *frame,
                           const struct carry_packet_sum *sum) {
    return is_left_by_sender(repair, frame, sum) ? CARRY_VERDICT_PARTIAL : sum->verdict;
}

/* Returns why a sum is left unrepaired. The reason is BESIDE if the sum is a header's that should
   be repaired, but repair_flags() refused the flag. */
static enum carry_capture_left why_left_known(const struct repair *repair,
                                              const struct judged *judged,
                                              const struct carry_frame *frame,
                                              const struct carry_packet_sum *sum) {
    unsigned verdict = verdict_of(repair, frame, sum);
    enum carry_capture_left reason = why_left(repair, judged, sum, verdict);
    bool is_held = reason == CARRY_CAPTURE_LEFT_UNCERTAIN || reason == CARRY_CAPTURE_LEFT_SNAPLEN;
    return is_held && is_left_header(repair, frame, sum) ? CARRY_CAPTURE_LEFT_BESIDE : reason;
}

static void leave_in_frame(struct repair *repair, const struct carry_capture_packet *packet,
                           const struct judged *judged, const struct carry_packet_sum *sum) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct carry_capture_change left = in_frame(packet, sum);
    leave_by_sender(repair, &frame, sum, &left, why_left_known(repair, judged, &frame, sum));
}

/* Checks whether a header was left unrepaired only because the evidence for its repair arrived
   later. */
static bool preceded_evidence(const struct repair *repair, const struct header_sender *sender,
                              enum carry_capture_left reason) {
    return reason == CARRY_CAPTURE_LEFT_ONLY && wants_repair(repair, CARRY_VERDICT_PARTIAL) &&
           carry_header_senders_leaves(repair->known, &sender->key);
}

static void settle_left(struct repair *repair) {
    size_t count;
    const struct header_sender *senders = carry_header_senders_list(repair->headers, &count);
    for (size_t i = 0; i < count; i++) {
        const bool leaves = carry_header_senders_leaves(repair->headers, &senders[i].key);
        const unsigned verdict = leaves ? CARRY_VERDICT_PARTIAL : CARRY_VERDICT_BAD;
        for (unsigned slot = 0; slot < LEFT_SLOTS; slot++)
            carry_repairs_leave_headers(repair->repairs, verdict,
                                        preceded_evidence(repair, &senders[i], left_of(slot))
                                            ? CARRY_CAPTURE_LEFT_EARLY
                                            : left_of(slot),
                                        &repair->waiting[i][slot]);
    }
}

/* Reports the sums of a packet that are left unrepaired. Sums in the content of a fragment wait for
   their datagram. */
static void leave_rest(struct repair *repair, const struct carry_capture_packet *packet,
                       const struct judged *judged, const struct carry_packet_fragment *fragment) {
    for (size_t i = 0; i < judged->count; i++) {
        const struct carry_packet_sum *sum = &judged->sums[i];
        bool waits = fragment->version && carry_reassembler_is_inside(fragment, sum);
        if (verdict_is_finding(sum->verdict) && !waits)
            leave_in_frame(repair, packet, judged, sum);
    }
}

/* --- A datagram --- */

static struct carry_capture_change in_source(const struct source *source,
                                             const struct carry_packet_sum *sum) {
    return (struct carry_capture_change){
        .sum = sum,
        .number = source->frame,
        .field_number = source->frame,
        .offset = source->offset - source->content_offset + sum->field_offset,
        .size = sum->field_size,
    };
}

static struct carry_capture_change in_datagram(const struct datagram *datagram,
                                               const struct carry_packet_sum *sum) {
    const struct source *source = carry_datagram_source(datagram, sum->field_offset);
    return (struct carry_capture_change){
        .sum = sum,
        .number = datagram->packet.number,
        .field_number = source ? source->frame : 0,
        .offset = carry_datagram_offset(datagram, sum->field_offset, sum->field_size),
        .size = sum->field_size,
    };
}

/* Overwrites bytes of the copy, whether they are still in the window or already written. */
static void overwrite_copy(struct repair *repair, uint64_t offset, const uint8_t *bytes,
                           size_t size) {
    const struct carry_capture_sink *sink = repair->sink;
    if (carry_input_overwrite(&repair->capture->input, offset, bytes, size))
        carry_spans_add(&repair->changed, offset, offset + size);
    else if (sink && !repair->sink_error)
        repair->sink_error = -sink->rewrite(sink->user, offset, bytes, size);
}

/* Writes the part of a changed field that a fragment holds. Returns false if the fragment holds no
   part of it. */
static bool write_change(struct repair *repair, const struct datagram *datagram,
                         const struct source *source, const struct carry_packet_sum *change) {
    uint32_t place = change->field_offset - datagram->header_size, end = place + change->field_size;
    uint32_t from = place > source->place ? place : source->place;
    uint32_t source_end = source->place + source->captured;
    uint32_t to = end < source_end ? end : source_end;
    if (from >= to)
        return false;
    const struct carry_capture_change written = {
        .sum = change,
        .number = datagram->packet.number,
        .field_number = source->frame,
        .offset = source->offset + (from - source->place),
        .skip = from - place,
        .size = to - from,
    };
    overwrite_copy(repair, written.offset,
                   datagram->packet.data + change->field_offset + written.skip, written.size);
    report_change(repair, &written);
    return true;
}

/* Writes changed fields to every fragment that contains them, because repeated fragments must still
   agree. */
static void write_changes(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = carry_capture_frame(&datagram->packet);
    struct carry_capture_repairs *repairs = repair->repairs;
    for (size_t i = 0; i < datagram->changes_count; i++) {
        repairs->repaired[datagram->changes[i].protocol][datagram->changes[i].verdict]++;
        if (carry_header_senders_is_alone(&datagram->changes[i]))
            count_lone_header(repair, &frame, &datagram->changes[i]);
    }
    for (const struct source *source = datagram->sources; source; source = source->next) {
        bool changed = false;
        for (size_t i = 0; i < datagram->changes_count; i++)
            changed |= write_change(repair, datagram, source, &datagram->changes[i]);
        repairs->totals.changed_packets += changed && !source->tag;
    }
}

static bool is_changed(const struct datagram *datagram, uint32_t at) {
    for (size_t i = 0; i < datagram->changes_count; i++)
        if (datagram->changes[i].field_offset == at)
            return true;
    return false;
}

/* Returns why the sum `at` bytes into a datagram is left unrepaired. A fragment may show a sum that
   the datagram does not, if the datagram ends before the sum or contradicts itself. */
static enum carry_capture_left why_left_in(const struct repair *repair,
                                           const struct datagram *datagram,
                                           const struct carry_packet_sum *sum, uint32_t at) {
    static const enum carry_capture_left bars[] = {
        [DATAGRAM_NESTED] = CARRY_CAPTURE_LEFT_NESTED,
        [DATAGRAM_COVERED] = CARRY_CAPTURE_LEFT_TUNNEL,
        [DATAGRAM_WRITTEN] = CARRY_CAPTURE_LEFT_WRITTEN,
    };
    const struct judged judged = {.sums = datagram->sums,
                                  .count = datagram->count,
                                  .cut = datagram->packet.captured < datagram->packet.wire};
    const struct carry_frame frame = carry_capture_frame(&datagram->packet);
    if (!wants_repair(repair, verdict_of(repair, &frame, sum)))
        return CARRY_CAPTURE_LEFT_ONLY;
    if (datagram->bar != DATAGRAM_FREE)
        return bars[datagram->bar];
    for (size_t i = 0; i < judged.count; i++)
        if (judged.sums[i].field_offset == at && verdict_is_finding(judged.sums[i].verdict))
            return why_left_known(repair, &judged, &frame, &judged.sums[i]);
    return judged.cut ? CARRY_CAPTURE_LEFT_SNAPLEN : CARRY_CAPTURE_LEFT_UNCERTAIN;
}

/* Reports the wrong sums that a fragment's own packet shows in its content, except repaired
   ones. */
static void leave_in_source(struct repair *repair, const struct datagram *datagram,
                            const struct source *source) {
    const struct carry_frame frame = carry_capture_frame(&datagram->packet);
    uint32_t moved = datagram->header_size + source->place - source->content_offset;
    for (size_t i = 0; i < source->sums_count; i++) {
        struct carry_packet_sum in_datagram = source->sums[i];
        in_datagram.field_offset += moved;
        in_datagram.network_offset += moved;
        const struct carry_capture_change left = in_source(source, &source->sums[i]);
        if (verdict_is_finding(in_datagram.verdict) &&
            !is_changed(datagram, in_datagram.field_offset))
            leave_by_sender(repair, &frame, &in_datagram, &left,
                            why_left_in(repair, datagram, &in_datagram, in_datagram.field_offset));
    }
}

static void settle_datagram(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = carry_capture_frame(&datagram->packet);
    learn_datagram(repair, datagram);
    write_changes(repair, datagram);
    /* Fragments within another datagram were reported with that datagram. */
    for (const struct source *source = datagram->sources; source; source = source->next)
        if (source->offset != CARRY_CAPTURE_NOWHERE)
            leave_in_source(repair, datagram, source);
    for (size_t i = 0; i < datagram->fresh_count; i++) {
        const struct carry_packet_sum *sum = &datagram->fresh[i];
        const struct carry_capture_change left = in_datagram(datagram, sum);
        if (verdict_is_finding(sum->verdict))
            leave_by_sender(repair, &frame, sum, &left,
                            why_left_in(repair, datagram, sum, sum->field_offset));
    }
}

static void leave_lost(void *context, enum carry_capture_reassembly why,
                       const struct source *sources) {
    struct repair *repair = context;
    for (const struct source *source = sources; source; source = source->next)
        for (size_t i = 0; i < source->sums_count && source->offset != CARRY_CAPTURE_NOWHERE; i++) {
            const struct carry_packet_sum *sum = &source->sums[i];
            const struct carry_capture_change left = in_source(source, sum);
            if (verdict_is_finding(sum->verdict))
                leave_sum(repair, &left,
                          wants_repair(repair, sum->verdict) ? CARRY_CAPTURE_LEFT_DATAGRAM + why
                                                             : CARRY_CAPTURE_LEFT_ONLY);
        }
}

static void reassemble_fragment(struct repair *repair, const struct carry_capture_packet *packet,
                                const struct carry_packet_fragment *fragment,
                                const struct judged *judged, bool changed) {
    struct reassembler *reassembler = repair->reassembler;
    carry_reassembler_tag(reassembler, changed);
    for (const struct datagram *datagram =
             carry_reassembler_add(reassembler, packet, fragment, judged->sums, judged->count);
         datagram; datagram = carry_reassembler_next(reassembler))
        settle_datagram(repair, datagram);
}

/* --- The pass --- */

bool carry_repair_open(struct repair *repair) {
    repair->known = carry_header_senders_create();
    repair->called_bad = calloc(HEADER_SENDERS_MAX, sizeof *repair->called_bad);
    repair->headers = carry_header_senders_create();
    repair->waiting = calloc(HEADER_SENDERS_MAX, sizeof *repair->waiting);
    repair->learner = carry_reassembler_create(&repair->options.packet);
    repair->reassembler = carry_reassembler_create(&repair->options.packet);
    if (!repair->known || !repair->called_bad || !repair->headers || !repair->waiting ||
        !repair->learner || !repair->reassembler)
        return false;
    carry_reassembler_repair(repair->reassembler, prepare_datagram, repair);
    carry_reassembler_watch(repair->reassembler, leave_lost, repair);
    return true;
}

/* Checks whether a frame has sums that are repaired, left, or say something about their sender.
   Most frames of most captures have none. */
static bool any_matters(const struct repair *repair, const struct carry_packet_sum *sums,
                        size_t count) {
    const unsigned matter = CARRY_CAPTURE_FINDING_VERDICTS | repair->options.packet.fix;
    for (size_t i = 0; i < count; i++)
        if (verdict_is_in(sums[i].verdict, matter))
            return true;
    return false;
}

/* Repairs a frame and judges it again: changes `sums`, to which `judged` points. Returns how many
   sums were repaired. */
static size_t repair_frame(struct repair *repair, const struct carry_capture_packet *packet,
                           struct carry_packet_sum *sums, struct judged *judged,
                           struct carry_packet_fragment *fragment) {
    const struct carry_packet_options *options = &repair->options.packet;
    struct carry_packet_options fixing = *options;
    struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
    struct carry_frame frame = carry_capture_frame(packet);
    size_t changed = 0;
    carry_local_headers_leave(&frame, sums, judged->count);
    learn_sums(repair, &frame, sums, judged->count);
    fixing.flags |= repair_flags(repair, &frame, sums, judged->count);
    if (fixing.flags != options->flags || any_wanted(repair, sums, judged->count))
        changed = carry_packet_fix(&frame, &fixing, changes, CARRY_PACKET_SUMS_MAX);
    if (changed)
        judged->count = judge_frame(repair, &frame, sums, fragment);
    carry_local_headers_leave(&frame, changes, changed);
    count_changes(repair, packet, changes, changed);
    settle_flags(repair, packet, changes, changed, judged);
    leave_rest(repair, packet, judged, fragment);
    return changed;
}

void carry_repair_packet(struct repair *repair, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const struct carry_frame frame = carry_capture_frame(packet);
    const size_t count = carry_packet_check_fragment(&frame, &repair->options.packet, sums,
                                                     CARRY_PACKET_SUMS_MAX, &fragment);
    struct judged judged = {sums, count, frame.captured < frame.wire};
    size_t changed = 0;
    if (any_matters(repair, sums, count))
        changed = repair_frame(repair, packet, sums, &judged, &fragment);
    repair->repairs->totals.packets++;
    repair->repairs->totals.bytes += packet->captured;
    if (fragment.version)
        reassemble_fragment(repair, packet, &fragment, &judged, changed);
}

bool carry_repair_end(struct repair *repair) {
    carry_reassembler_end(repair->reassembler);
    settle_repaired(repair);
    settle_left(repair);
    return !carry_reassembler_counts(repair->reassembler)[CARRY_CAPTURE_REASSEMBLY_NO_MEMORY];
}

void carry_repair_close(struct repair *repair) {
    if (repair->reassembler)
        carry_reassembler_watch(repair->reassembler, NULL, NULL);
    carry_reassembler_free(repair->reassembler);
    carry_reassembler_free(repair->learner);
    carry_header_senders_free(repair->known);
    free(repair->called_bad);
    carry_header_senders_free(repair->headers);
    free(repair->waiting);
}
