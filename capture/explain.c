/* SPDX-License-Identifier: MIT */
/*
 * Explains one frame, and follows its fragments until their datagrams are complete or lost. The
 * other fragments of these datagrams may be in any frames of the capture.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flows.h"
#include "format.h"
#include "local_headers.h"
#include "reassemble.h"
#include "summary.h"

/* Lists in the evidence about one sum. */
struct lists {
    struct carry_capture_other others[CARRY_CAPTURE_OTHERS];
    struct carry_capture_assumption assumptions[CARRY_CAPTURE_ASSUMPTIONS];
};

/* The frame, or a datagram that has a fragment in the frame: kept while more of the capture is
   read. */
struct kept {
    struct kept *next;
    struct carry_capture_explanation explanation;
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    struct carry_capture_finding findings[CARRY_PACKET_SUMS_MAX];
    struct carry_capture_evidence evidence[CARRY_PACKET_SUMS_MAX];
    struct lists lists[CARRY_PACKET_SUMS_MAX]; /* the lists in `evidence` */
    uint64_t frames[];                         /* followed by the bytes of the packet */
};

struct explain {
    struct carry_capture *capture;
    uint64_t number;
    carry_capture_explain_fn *call;
    void *user;
    struct reassembler *reassembler;
    struct header_senders *senders;
    struct flows *flows;
    struct kept *first, **end; /* the packets to explain, in this order */
    unsigned waiting;          /* datagrams of the frame that are neither complete nor lost */
    bool cancelled, no_memory;
};

static size_t count_sources(const struct source *sources) {
    size_t count = 0;
    for (const struct source *source = sources; source; source = source->next)
        count++;
    return count;
}

/* Appends a copy of a packet to the list of packets to explain. `sources` is NULL for a frame.
   Returns NULL if there is no memory. */
static struct kept *keep_packet(struct explain *explain, const struct carry_capture_packet *packet,
                                const struct source *sources) {
    const size_t count = count_sources(sources);
    struct kept *kept = calloc(1, sizeof *kept + count * sizeof *kept->frames + packet->captured);
    explain->no_memory |= !kept;
    if (!kept)
        return NULL;
    struct carry_capture_explanation *explanation = &kept->explanation;
    *explanation = (struct carry_capture_explanation){.is_datagram = sources,
                                                      .frames = kept->frames,
                                                      .packet = *packet,
                                                      .layers = kept->layers,
                                                      .findings = kept->findings,
                                                      .evidence = kept->evidence};
    for (const struct source *source = sources; source; source = source->next)
        kept->frames[explanation->frames_count++] = source->frame;
    explanation->packet.data = (const uint8_t *)(kept->frames + count);
    if (packet->captured)
        memcpy(kept->frames + count, packet->data, packet->captured);
    explanation->frame = carry_capture_frame(&explanation->packet);
    *explain->end = kept;
    explain->end = &kept->next;
    return kept;
}

/* Lists the layers. A datagram has no link layer, though it looks like a frame of raw IP. */
static void list_layers(struct kept *kept) {
    struct carry_capture_explanation *explanation = &kept->explanation;
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    const size_t count =
        carry_packet_layers(&explanation->frame, NULL, layers, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!explanation->is_datagram || layers[i].protocol != CARRY_PROTOCOL_RAW)
            kept->layers[explanation->layers_count++] = layers[i];
}

/* Adds a finding for sum `index` of `count`, and returns it. */
static struct carry_capture_finding *
append_finding(struct kept *kept, const struct carry_packet_sum *sums, size_t count, size_t index) {
    struct carry_capture_explanation *explanation = &kept->explanation;
    struct carry_capture_finding *finding = &kept->findings[explanation->findings_count++];
    const struct evidence evidence = carry_cause_find(&explanation->packet, sums, count, index);
    carry_finding_describe(finding, &explanation->packet, &sums[index], &evidence);
    return finding;
}

/* --- What other packets show of senders and flows --- */

/* Adds sum `index` of `count` to senders and flows, as carry_capture_check() does. */
static void learn_sum(struct explain *explain, const struct carry_capture_packet *packet,
                      const struct carry_packet_sum *sums, size_t count, size_t index) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const struct header_sender *sender =
        carry_header_senders_add(explain->senders, &frame, &sums[index]);
    if (!sender || !carry_header_senders_leaves(explain->senders, &sender->key))
        carry_flows_add(explain->flows, packet, packet->number, &sums[index],
                        carry_cause_find(packet, sums, count, index).cause);
}

/* Judges a frame like carry_capture_check(). */
static size_t judge_frame(const struct carry_frame *frame, struct carry_packet_sum *sums,
                          struct carry_packet_fragment *fragment) {
    const size_t count =
        carry_packet_check_fragment(frame, NULL, sums, CARRY_PACKET_SUMS_MAX, fragment);
    carry_local_headers_leave(frame, sums, count);
    return count;
}

static void learn_packet(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    const struct carry_frame frame = carry_capture_frame(packet);
    const size_t count = judge_frame(&frame, sums, &fragment);
    for (size_t i = 0; i < count; i++)
        learn_sum(explain, packet, sums, count, i);
}

/* Adds the sums that the first fragment left unverifiable, as carry_capture_check() does. */
static void learn_datagram_sums(struct explain *explain, const struct datagram *datagram) {
    for (size_t i = 0; i < datagram->fresh_count; i++)
        learn_sum(explain, &datagram->packet, datagram->sums, datagram->count,
                  carry_datagram_index(datagram, &datagram->fresh[i]));
}

/* Makes the sums of headers partial if the headers' senders leave them to the network card. Returns
   whether more packets may still change a finding. */
static bool settle_findings(const struct explain *explain, struct kept *kept) {
    bool open = false;
    for (size_t i = 0; i < kept->explanation.findings_count; i++) {
        struct carry_capture_finding *finding = &kept->findings[i];
        open |= carry_flows_may_change(explain->flows, finding);
        if (!carry_header_senders_is_alone(&finding->sum))
            continue;
        const struct header_key key =
            carry_header_senders_key(explain->senders, &kept->explanation.frame, &finding->sum);
        if (carry_header_senders_leaves(explain->senders, &key))
            carry_finding_leave(finding);
        else
            open = true;
    }
    return open;
}

/* Lists the evidence about a bad sum whose finding is not settled yet. `cause` is the cause that
   the finding will have. */
static void list_evidence(const struct explain *explain, struct kept *kept, size_t index,
                          unsigned cause) {
    const struct carry_capture_finding *finding = &kept->findings[index];
    struct carry_capture_evidence *evidence = &kept->evidence[index];
    struct lists *lists = &kept->lists[index];
    if (finding->sum.verdict != CARRY_VERDICT_BAD || finding->sum.field_size != 2)
        return;
    evidence->is_known = true;
    evidence->difference = carry_cause_difference(&finding->sum);
    evidence->others = lists->others;
    evidence->others_count =
        carry_flows_others(explain->flows, finding, lists->others, &evidence->others_total);
    evidence->assumptions = lists->assumptions;
    if (!carry_cause_is_of_flow(cause))
        evidence->assumptions_count =
            carry_cause_assume(&kept->explanation.frame, &finding->sum, cause, lists->assumptions);
}

static void call_user(struct explain *explain, struct kept *kept) {
    for (size_t i = 0; i < kept->explanation.findings_count; i++) {
        const unsigned cause = carry_flows_settle(explain->flows, &kept->findings[i]);
        list_evidence(explain, kept, i, cause);
        kept->findings[i].cause = cause;
    }
    if (!explain->cancelled)
        explain->cancelled = !explain->call(explain->user, &kept->explanation);
}

/* Explains the entries in order, up to the first one that more packets may change. With `all`,
   explains all entries. */
static void call_settled(struct explain *explain, bool all) {
    struct kept *kept;
    while ((kept = explain->first) && (!settle_findings(explain, kept) || all)) {
        call_user(explain, kept);
        explain->first = kept->next;
        free(kept);
    }
    if (!explain->first)
        explain->end = &explain->first;
}

/* --- Datagrams --- */

/* Returns how many of these fragments are in the frame that is explained. */
static unsigned count_own(const struct explain *explain, const struct source *sources) {
    unsigned count = 0;
    for (const struct source *source = sources; source; source = source->next)
        count += source->frame == explain->number;
    return count;
}

/* Explains a datagram. The sum of its IP header is skipped: no such header is in the file. */
static void explain_datagram(struct explain *explain, const struct datagram *datagram) {
    struct kept *kept = keep_packet(explain, &datagram->packet, datagram->sources);
    if (!kept)
        return;
    list_layers(kept);
    for (size_t i = 0; i < datagram->count; i++) {
        const struct carry_packet_sum *sum = &datagram->sums[i];
        if (sum->field_offset < datagram->header_size)
            continue;
        struct carry_capture_finding *finding =
            append_finding(kept, datagram->sums, datagram->count, i);
        finding->reassembled = true;
        finding->offset = carry_datagram_offset(datagram, sum->field_offset, sum->field_size);
    }
}

static void resolve_datagram(struct explain *explain, const struct datagram *datagram) {
    const unsigned count = count_own(explain, datagram->sources);
    learn_datagram_sums(explain, datagram);
    explain->waiting -= count;
    if (count)
        explain_datagram(explain, datagram);
}

static void keep_lost(void *context, enum carry_capture_reassembly why,
                      const struct source *sources) {
    struct explain *explain = context;
    const unsigned count = count_own(explain, sources);
    struct kept *kept =
        count ? keep_packet(explain, &(struct carry_capture_packet){0}, sources) : NULL;
    explain->waiting -= count;
    if (kept)
        kept->explanation.reassembly = why;
}

static void follow_fragments(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = carry_capture_frame(packet);
    carry_packet_check_fragment(&frame, NULL, NULL, 0, &fragment);
    if (!fragment.version)
        return;
    size_t count = judge_frame(&frame, sums, &fragment);
    bool is_own = packet->number == explain->number;
    explain->waiting += is_own;
    for (const struct datagram *datagram =
             carry_reassembler_add(explain->reassembler, packet, &fragment, sums, count);
         datagram; datagram = carry_reassembler_next(explain->reassembler)) {
        explain->waiting += is_own && datagram->holds_fragment;
        resolve_datagram(explain, datagram);
    }
}

/* --- The frame --- */

static void keep_frame(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct kept *kept = keep_packet(explain, packet, NULL);
    if (!kept)
        return;
    list_layers(kept);
    const size_t count = judge_frame(&kept->explanation.frame, sums, &fragment);
    for (size_t i = 0; i < count; i++)
        append_finding(kept, sums, count, i);
}

/*
 * Explains the frame, and the datagrams that have fragments in it. A header whose
 * sum holds 0 waits for evidence from other packets of its sender, and a bad sum for evidence from
 * other packets of its flow.
 */
static void explain_packet(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_capture_packet other;
    keep_frame(explain, packet);
    follow_fragments(explain, packet);
    call_settled(explain, false);
    while ((explain->waiting || explain->first) && !explain->cancelled && !explain->no_memory &&
           carry_reader_next(explain->capture, &other) == CARRY_CAPTURE_PACKET) {
        learn_packet(explain, &other);
        follow_fragments(explain, &other);
        call_settled(explain, false);
    }
    carry_reassembler_end(explain->reassembler);
    call_settled(explain, true);
}

/* Reads up to the packet. Returns CARRY_CAPTURE_PACKET if the packet exists. */
static int find_packet(struct explain *explain, struct carry_capture_packet *packet) {
    int result;
    while ((result = carry_reader_next(explain->capture, packet)) == CARRY_CAPTURE_PACKET) {
        learn_packet(explain, packet);
        if (packet->number == explain->number)
            return result;
        follow_fragments(explain, packet);
    }
    return result;
}

static int explain_number(struct explain *explain, uint64_t *packets) {
    struct carry_capture *capture = explain->capture;
    struct carry_capture_packet packet = {0};
    int result = find_packet(explain, &packet);
    if (packets)
        *packets = capture->packets;
    if (result == CARRY_CAPTURE_END)
        return carry_format_fail_text(capture, CARRY_ERROR_UNKNOWN, "there is no such packet");
    if (result != CARRY_CAPTURE_PACKET)
        return result;
    explain_packet(explain, &packet);
    if (explain->no_memory)
        return carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (explain->cancelled)
        return carry_format_end(capture, CARRY_ERROR_CANCELLED, 0);
    return CARRY_OK;
}

int carry_capture_explain(struct carry_capture *capture, uint64_t number,
                          carry_capture_explain_fn *explain, void *user, uint64_t *packets) {
    if (number <= capture->packets)
        return carry_format_fail_text(capture, CARRY_ERROR_INVALID,
                                      "that packet has been read already");
    struct explain own = {.capture = capture, .number = number, .call = explain, .user = user};
    own.end = &own.first;
    own.reassembler = carry_reassembler_create(NULL);
    own.senders = carry_header_senders_create();
    own.flows = carry_flows_create();
    if (own.reassembler)
        carry_reassembler_watch(own.reassembler, keep_lost, &own);
    int result = own.reassembler && own.senders && own.flows && carry_flows_keep_others(own.flows)
                     ? explain_number(&own, packets)
                     : carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (own.reassembler)
        carry_reassembler_watch(own.reassembler, NULL, NULL);
    carry_reassembler_free(own.reassembler);
    carry_header_senders_free(own.senders);
    carry_flows_free(own.flows);
    return result;
}
