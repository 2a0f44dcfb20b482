/* SPDX-License-Identifier: MIT */
#include "capture/repair.h"

#include <stdlib.h>

#include "capture/cause.h"
#include "capture/tally.h"

/* The sums of a frame or a datagram, as they were judged last. */
struct judged {
    const struct carry_packet_sum *sums;
    size_t count;
    bool cut; /* by the capture */
};

/* --- What is left --- */

static bool is_wanted(const struct repair *repair, unsigned verdict) {
    uint32_t wanted = repair->options.fix;
    return wanted ? wanted >> verdict & 1 : tally_names(verdict);
}

bool repair_tells_apart(const struct repair *repair) {
    return is_wanted(repair, CARRY_VERDICT_BAD) != is_wanted(repair, CARRY_VERDICT_PARTIAL);
}

static bool covers(const struct carry_packet_sum *outer, const struct carry_packet_sum *inner) {
    return inner->field_offset >= outer->cover_offset &&
           inner->field_offset - outer->cover_offset < outer->cover_size;
}

/* Why a sum with this verdict is left, of which all others are known. */
static enum fix_reason why_left(const struct repair *repair, const struct judged *judged,
                                const struct carry_packet_sum *sum, unsigned verdict) {
    if (!is_wanted(repair, verdict))
        return FIX_REASON_ONLY;
    if (sum->quoted)
        return FIX_REASON_QUOTED;
    for (const struct carry_packet_sum *outer = judged->sums; outer < sum; outer++) {
        bool unverifiable = outer->verdict == CARRY_VERDICT_UNVERIFIABLE;
        if (!covers(outer, sum) || (unverifiable && outer->quoted))
            continue;
        if (unverifiable)
            return FIX_REASON_COVERED;
        if (outer->verdict == CARRY_VERDICT_PARTIAL && outer->expected == outer->stored)
            return FIX_REASON_PARTIAL;
    }
    if (sum->cause == CARRY_CAUSE_ADLER32 && !repair->options.fix)
        return FIX_REASON_ADLER32;
    return judged->cut ? FIX_REASON_SNAPLEN : FIX_REASON_UNKNOWN;
}

static void leave(struct repair *repair, const struct fix_sum *sum, enum fix_reason reason) {
    fix_leave(repair->report, sum, reason);
    if (repair->log)
        fix_log_left(repair->log, sum, reason);
}

/* --- Senders of headers that hold 0 --- */

/* The sender of the IP header that a sum belongs to, in a frame. */
static const uint8_t *sender_of(const struct carry_frame *frame,
                                const struct carry_packet_sum *sum) {
    return (const uint8_t *)frame->data + sum->network_offset + 12;
}

/* A datagram is cut at its first gap, and a fragment behind that may hold a whole header. */
static bool has_sender(const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    return (uint64_t)sum->network_offset + 20 <= frame->captured;
}

static bool is_left(const struct repair *repair, const struct carry_frame *frame,
                    const struct carry_packet_sum *sum) {
    return header_senders_is_alone(sum) && has_sender(frame, sum) &&
           header_senders_leaves(repair->known, sender_of(frame, sum));
}

static void learn(struct repair *repair, const struct carry_frame *frame,
                  const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        header_senders_add(repair->known, frame, &sums[i]);
}

/* As carry check: from what its first fragment could not tell, as it was before any repair. */
static void learn_datagram(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = tally_frame(&datagram->packet);
    learn(repair, &frame, datagram->changes, datagram->changes_count);
    learn(repair, &frame, datagram->fresh, datagram->fresh_count);
}

void repair_learn(struct repair *repair, const struct packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const struct carry_frame frame = tally_frame(packet);
    size_t count = carry_packet_check_fragment(&frame, &repair->options, sums,
                                               CARRY_PACKET_SUMS_MAX, &fragment);
    learn(repair, &frame, sums, count);
    if (!fragment.version)
        return;
    for (const struct datagram *datagram =
             reassembler_add(repair->learner, packet, &fragment, sums, count);
         datagram; datagram = reassembler_next(repair->learner))
        learn_datagram(repair, datagram);
}

void repair_learned(struct repair *repair) {
    reassembler_end(repair->learner);
}

/*
 * The flag with which a frame is repaired: for headers whose senders leave them to their network
 * cards, unless it would turn any other sum of the frame partial.
 */
static uint32_t flags_of(const struct repair *repair, const struct carry_frame *frame,
                         const struct carry_packet_sum *sums, size_t count) {
    struct carry_packet_options known = repair->options;
    struct carry_packet_sum judged[CARRY_PACKET_SUMS_MAX];
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += is_left(repair, frame, &sums[i]);
    if (!left)
        return 0;
    known.flags |= CARRY_PACKET_IP_ZERO_PARTIAL;
    carry_packet_check(frame, &known, judged, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict != sums[i].verdict && !is_left(repair, frame, &sums[i]))
            return 0;
    return CARRY_PACKET_IP_ZERO_PARTIAL;
}

/* As reassembler_flags_fn. */
static uint32_t flags_of_datagram(void *context, const struct carry_frame *datagram) {
    struct repair *repair = context;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(datagram, &repair->options, sums, CARRY_PACKET_SUMS_MAX);
    return flags_of(repair, datagram, sums, count);
}

/* A header that was repaired as a bad one may turn out to have been left to a network card. */
static void note_alone(struct repair *repair, const struct carry_frame *frame,
                       const struct carry_packet_sum *change) {
    size_t count;
    const struct header_sender *first = header_senders_list(repair->known, &count);
    const struct header_sender *sender =
        header_senders_find(repair->known, sender_of(frame, change));
    if (sender)
        repair->called_bad[sender - first]++;
}

static void settle_repaired(struct repair *repair) {
    size_t count;
    const struct header_sender *senders = header_senders_list(repair->known, &count);
    uint64_t *repaired = repair->report->repaired[CARRY_PROTOCOL_IP];
    for (size_t i = 0; i < count; i++) {
        uint64_t left = senders[i].leaves ? repair->called_bad[i] : 0;
        repaired[CARRY_VERDICT_BAD] -= left;
        repaired[CARRY_VERDICT_PARTIAL] += left;
    }
}

/* --- A frame --- */

static bool any_wanted(const struct repair *repair, const struct carry_packet_sum *sums,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_wanted(repair, sums[i].verdict))
            return true;
    return false;
}

static struct fix_sum in_frame(const struct packet *packet, const struct carry_packet_sum *sum) {
    return (struct fix_sum){
        .sum = sum,
        .frame = packet->number,
        .field_frame = packet->number,
        .offset = packet->offset + sum->field_offset,
        .size = sum->field_size,
    };
}

static void note_changes(struct repair *repair, const struct packet *packet,
                         const struct carry_packet_sum *changes, size_t count) {
    const struct carry_frame frame = tally_frame(packet);
    repair->report->changed_packets += count > 0;
    for (size_t i = 0; i < count; i++) {
        const struct fix_sum change = in_frame(packet, &changes[i]);
        repair->report->repaired[changes[i].protocol][changes[i].verdict]++;
        if (header_senders_is_alone(&changes[i]))
            note_alone(repair, &frame, &changes[i]);
        if (repair->log)
            fix_log_change(repair->log, &change);
    }
}

/*
 * What is left is reported as carry check will report it: headers of 0 by what their sender leaves
 * to its network card in the whole copy.
 */
static void leave_header(struct repair *repair, const struct header_sender *sender,
                         const struct fix_sum *left, enum fix_reason reason) {
    size_t count;
    const struct header_sender *first = header_senders_list(repair->headers, &count);
    struct carry_packet_sum known = *left->sum; /* what is known by now goes into the log */
    struct fix_sum logged = *left;
    logged.sum = &known;
    if (sender->leaves)
        cause_leave(&known);
    fix_group_add(&repair->waiting[sender - first][reason], left->frame);
    if (repair->log)
        fix_log_left(repair->log, &logged, reason);
}

/* Leaves a sum of a frame or a datagram, where `sum` tells its place in that. */
static void leave_by_sender(struct repair *repair, const struct carry_frame *frame,
                            const struct carry_packet_sum *sum, const struct fix_sum *left,
                            enum fix_reason reason) {
    const struct header_sender *sender =
        has_sender(frame, sum) ? header_senders_add(repair->headers, frame, sum) : NULL;
    if (sender && header_senders_is_alone(sum))
        leave_header(repair, sender, left, reason);
    else
        leave(repair, left, reason);
}

/* The verdict by all that is known of the sender. */
static unsigned verdict_of(const struct repair *repair, const struct carry_frame *frame,
                           const struct carry_packet_sum *sum) {
    return is_left(repair, frame, sum) ? CARRY_VERDICT_PARTIAL : sum->verdict;
}

/* One that is wanted by its sender is left where the flag for a frame would go too far. */
static enum fix_reason why_left_known(const struct repair *repair, const struct judged *judged,
                                      const struct carry_frame *frame,
                                      const struct carry_packet_sum *sum) {
    unsigned verdict = verdict_of(repair, frame, sum);
    enum fix_reason reason = why_left(repair, judged, sum, verdict);
    bool is_held = reason == FIX_REASON_UNKNOWN || reason == FIX_REASON_SNAPLEN;
    return is_held && verdict != sum->verdict ? FIX_REASON_BESIDE : reason;
}

static void leave_in_frame(struct repair *repair, const struct packet *packet,
                           const struct judged *judged, const struct carry_packet_sum *sum) {
    const struct carry_frame frame = tally_frame(packet);
    const struct fix_sum left = in_frame(packet, sum);
    leave_by_sender(repair, &frame, sum, &left, why_left_known(repair, judged, &frame, sum));
}

/* Was it left only because what shows that it was to be repaired came behind it? */
static bool came_early(const struct repair *repair, const struct header_sender *sender,
                       enum fix_reason reason) {
    return reason == FIX_REASON_ONLY && is_wanted(repair, CARRY_VERDICT_PARTIAL) &&
           header_senders_leaves(repair->known, sender->address);
}

static void settle_left(struct repair *repair) {
    size_t count;
    const struct header_sender *senders = header_senders_list(repair->headers, &count);
    for (size_t i = 0; i < count; i++)
        for (unsigned reason = 0; reason < FIX_REASON_COUNT; reason++)
            fix_leave_headers(repair->report,
                              senders[i].leaves ? CARRY_VERDICT_PARTIAL : CARRY_VERDICT_BAD,
                              came_early(repair, &senders[i], reason) ? FIX_REASON_EARLY : reason,
                              &repair->waiting[i][reason]);
}

/* Those in the content of a fragment wait for their datagram. */
static void leave_rest(struct repair *repair, const struct packet *packet,
                       const struct judged *judged, const struct carry_packet_fragment *fragment) {
    for (size_t i = 0; i < judged->count; i++) {
        const struct carry_packet_sum *sum = &judged->sums[i];
        bool waits = fragment->version && reassembler_is_inside(fragment, sum);
        if (tally_names(sum->verdict) && !waits)
            leave_in_frame(repair, packet, judged, sum);
    }
}

/* --- A datagram --- */

static struct fix_sum in_source(const struct source *source, const struct carry_packet_sum *sum) {
    return (struct fix_sum){
        .sum = sum,
        .frame = source->frame,
        .field_frame = source->frame,
        .offset = source->offset - source->content_offset + sum->field_offset,
        .size = sum->field_size,
    };
}

static struct fix_sum in_datagram(const struct datagram *datagram,
                                  const struct carry_packet_sum *sum) {
    const struct source *source = datagram_source(datagram, sum->field_offset);
    return (struct fix_sum){
        .sum = sum,
        .frame = datagram->packet.number,
        .field_frame = source ? source->frame : 0,
        .offset = datagram_offset(datagram, sum->field_offset, sum->field_size),
        .size = sum->field_size,
    };
}

/* Writes to the copy, whether that place is still to be handed on or not. */
static void overwrite(struct repair *repair, uint64_t offset, const uint8_t *bytes, size_t size) {
    if (!input_overwrite(capture_input(repair->capture), offset, bytes, size) && repair->output)
        output_rewrite(repair->output, offset, bytes, size);
}

/* Writes what a fragment holds of a field that changes; false if that is nothing. */
static bool write_change(struct repair *repair, const struct datagram *datagram,
                         const struct source *source, const struct carry_packet_sum *change) {
    uint32_t place = change->field_offset - datagram->header_size, end = place + change->field_size;
    uint32_t from = place > source->place ? place : source->place;
    uint32_t source_end = source->place + source->captured;
    uint32_t to = end < source_end ? end : source_end;
    if (from >= to)
        return false;
    const struct fix_sum written = {
        .sum = change,
        .frame = datagram->packet.number,
        .field_frame = source->frame,
        .offset = source->offset + (from - source->place),
        .skip = from - place,
        .size = to - from,
    };
    overwrite(repair, written.offset, datagram->packet.data + change->field_offset + written.skip,
              written.size);
    if (repair->log)
        fix_log_change(repair->log, &written);
    return true;
}

/* A field changes in every fragment that brought it: copies must go on to agree. */
static void write_changes(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = tally_frame(&datagram->packet);
    struct fix_report *report = repair->report;
    for (size_t i = 0; i < datagram->changes_count; i++) {
        report->repaired[datagram->changes[i].protocol][datagram->changes[i].verdict]++;
        if (header_senders_is_alone(&datagram->changes[i]))
            note_alone(repair, &frame, &datagram->changes[i]);
    }
    for (const struct source *source = datagram->sources; source; source = source->next) {
        bool changed = false;
        for (size_t i = 0; i < datagram->changes_count; i++)
            changed |= write_change(repair, datagram, source, &datagram->changes[i]);
        report->changed_packets += changed && !source->tag;
    }
}

static bool is_changed(const struct datagram *datagram, uint32_t at) {
    for (size_t i = 0; i < datagram->changes_count; i++)
        if (datagram->changes[i].field_offset == at)
            return true;
    return false;
}

/* Why a sum is left that stands `at` bytes into a datagram. */
static enum fix_reason why_left_in(const struct repair *repair, const struct datagram *datagram,
                                   const struct carry_packet_sum *sum, uint32_t at) {
    const struct judged judged = {.sums = datagram->sums,
                                  .count = datagram->count,
                                  .cut = datagram->packet.captured < datagram->packet.wire};
    const struct carry_frame frame = tally_frame(&datagram->packet);
    if (!is_wanted(repair, verdict_of(repair, &frame, sum)))
        return FIX_REASON_ONLY;
    if (datagram->bar != DATAGRAM_FREE)
        return datagram->bar == DATAGRAM_NESTED ? FIX_REASON_NESTED : FIX_REASON_TUNNEL;
    for (size_t i = 0; i < judged.count; i++)
        if (judged.sums[i].field_offset == at)
            return why_left_known(repair, &judged, &frame, &judged.sums[i]);
    return FIX_REASON_UNKNOWN;
}

/* What a fragment alone shows to be wrong is listed with it, unless that was put right. */
static void leave_in_source(struct repair *repair, const struct datagram *datagram,
                            const struct source *source) {
    const struct carry_frame frame = tally_frame(&datagram->packet);
    uint32_t moved = datagram->header_size + source->place - source->content_offset;
    for (size_t i = 0; i < source->sums_count; i++) {
        struct carry_packet_sum in_datagram = source->sums[i];
        in_datagram.field_offset += moved;
        in_datagram.network_offset += moved;
        const struct fix_sum left = in_source(source, &source->sums[i]);
        if (tally_names(in_datagram.verdict) && !is_changed(datagram, in_datagram.field_offset))
            leave_by_sender(repair, &frame, &in_datagram, &left,
                            why_left_in(repair, datagram, &in_datagram, in_datagram.field_offset));
    }
}

static void finish_datagram(struct repair *repair, const struct datagram *datagram) {
    const struct carry_frame frame = tally_frame(&datagram->packet);
    learn_datagram(repair, datagram);
    write_changes(repair, datagram);
    for (const struct source *source = datagram->sources; source; source = source->next)
        if (source->offset != SOURCE_NOWHERE) /* others were listed with the datagram around */
            leave_in_source(repair, datagram, source);
    for (size_t i = 0; i < datagram->fresh_count; i++) {
        const struct carry_packet_sum *sum = &datagram->fresh[i];
        const struct fix_sum left = in_datagram(datagram, sum);
        if (tally_names(sum->verdict))
            leave_by_sender(repair, &frame, sum, &left,
                            why_left_in(repair, datagram, sum, sum->field_offset));
    }
}

static void finish_lost(void *context, enum reassembly why, const struct source *sources) {
    struct repair *repair = context;
    for (const struct source *source = sources; source; source = source->next)
        for (size_t i = 0; i < source->sums_count && source->offset != SOURCE_NOWHERE; i++) {
            const struct carry_packet_sum *sum = &source->sums[i];
            const struct fix_sum left = in_source(source, sum);
            if (tally_names(sum->verdict))
                leave(repair, &left,
                      is_wanted(repair, sum->verdict) ? FIX_REASON_DATAGRAM + why
                                                      : FIX_REASON_ONLY);
        }
}

static void add_fragment(struct repair *repair, const struct packet *packet,
                         const struct carry_packet_fragment *fragment, const struct judged *judged,
                         bool changed) {
    struct reassembler *reassembler = repair->reassembler;
    reassembler_tag(reassembler, changed);
    for (const struct datagram *datagram =
             reassembler_add(reassembler, packet, fragment, judged->sums, judged->count);
         datagram; datagram = reassembler_next(reassembler))
        finish_datagram(repair, datagram);
}

/* --- The pass --- */

bool repair_open(struct repair *repair) {
    repair->known = header_senders_create();
    repair->called_bad = calloc(HEADER_SENDERS_MAX, sizeof *repair->called_bad);
    repair->headers = header_senders_create();
    repair->waiting = calloc(HEADER_SENDERS_MAX, sizeof *repair->waiting);
    repair->learner = reassembler_create(&repair->options);
    repair->reassembler = reassembler_create(&repair->options);
    if (!repair->known || !repair->called_bad || !repair->headers || !repair->waiting ||
        !repair->learner || !repair->reassembler)
        return false;
    reassembler_repair(repair->reassembler, flags_of_datagram, repair);
    reassembler_watch(repair->reassembler, finish_lost, repair);
    return true;
}

void repair_packet(struct repair *repair, const struct packet *packet) {
    const struct carry_packet_options *options = &repair->options;
    struct carry_packet_options fixing = *options;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX], changes[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = tally_frame(packet);
    size_t changed = 0, count = carry_packet_check_fragment(&frame, options, sums,
                                                            CARRY_PACKET_SUMS_MAX, &fragment);
    learn(repair, &frame, sums, count);
    fixing.flags |= flags_of(repair, &frame, sums, count);
    if (fixing.flags != options->flags || any_wanted(repair, sums, count))
        changed = carry_packet_fix(&frame, &fixing, changes, CARRY_PACKET_SUMS_MAX);
    if (changed)
        count =
            carry_packet_check_fragment(&frame, options, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    note_changes(repair, packet, changes, changed);
    repair->report->packets++;
    repair->report->bytes += packet->captured;
    const struct judged judged = {sums, count, frame.captured < frame.wire};
    leave_rest(repair, packet, &judged, &fragment);
    if (fragment.version)
        add_fragment(repair, packet, &fragment, &judged, changed);
}

bool repair_end(struct repair *repair) {
    reassembler_end(repair->reassembler);
    settle_repaired(repair);
    settle_left(repair);
    return !reassembler_counts(repair->reassembler)[REASSEMBLY_NO_MEMORY];
}

void repair_close(struct repair *repair) {
    if (repair->reassembler)
        reassembler_watch(repair->reassembler, NULL, NULL);
    reassembler_free(repair->reassembler);
    reassembler_free(repair->learner);
    header_senders_free(repair->known);
    free(repair->called_bad);
    header_senders_free(repair->headers);
    free(repair->waiting);
}
