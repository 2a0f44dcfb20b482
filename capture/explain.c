/* SPDX-License-Identifier: MIT */
/*
 * Explains one frame, and follows the fragments that it holds to what becomes of their datagrams,
 * whose other fragments stand in any frames of the capture.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flows.h"
#include "format.h"
#include "reassemble.h"
#include "summary.h"

struct explain {
    struct carry_capture *capture;
    uint64_t number;
    carry_capture_explain_fn *call;
    void *user;
    struct reassembler *reassembler;
    struct header_senders *senders;
    struct flows *flows;
    unsigned waiting; /* datagrams of the frame that are neither complete nor lost */
    bool cancelled, no_memory;
};

/* Room for what an explanation points to. */
struct parts {
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    struct carry_capture_finding findings[CARRY_PACKET_SUMS_MAX];
};

static void call(struct explain *explain, const struct carry_capture_explanation *explanation) {
    if (!explain->cancelled)
        explain->cancelled = !explain->call(explain->user, explanation);
}

/* A datagram has no link, though it looks like a frame of raw IP. */
static size_t list_layers(const struct carry_capture_explanation *explanation,
                          struct parts *parts) {
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t kept = 0,
           count = carry_packet_layers(&explanation->frame, NULL, layers, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!explanation->is_datagram || layers[i].protocol != CARRY_PROTOCOL_RAW)
            parts->layers[kept++] = layers[i];
    return kept;
}

static struct carry_capture_explanation explanation_of(const struct carry_capture_packet *packet,
                                                       bool is_datagram, struct parts *parts) {
    struct carry_capture_explanation explanation = {
        .is_datagram = is_datagram,
        .packet = *packet,
        .frame = carry_capture_frame(packet),
        .layers = parts->layers,
        .findings = parts->findings,
    };
    explanation.layers_count = list_layers(&explanation, parts);
    return explanation;
}

/* Sum `index` of `count`. */
static void add_finding(struct carry_capture_explanation *explanation, struct parts *parts,
                        const struct carry_packet_sum *sums, size_t count, size_t index) {
    const struct evidence evidence = carry_cause_find(&explanation->packet, sums, count, index);
    carry_finding_describe(&parts->findings[explanation->findings_count++], &explanation->packet,
                           &sums[index], &evidence);
}

/* --- Datagrams --- */

/* How many of these came in the frame. */
static unsigned count_own(const struct explain *explain, const struct source *sources) {
    unsigned count = 0;
    for (const struct source *source = sources; source; source = source->next)
        count += source->frame == explain->number;
    return count;
}

/* Calls back for a datagram of which the frame holds a fragment. */
static void call_for(struct explain *explain, struct carry_capture_explanation *explanation,
                     const struct source *sources) {
    size_t count = 0;
    for (const struct source *source = sources; source; source = source->next)
        count++;
    uint64_t *frames = malloc(count * sizeof *frames);
    explain->no_memory |= !frames;
    if (!frames)
        return;
    for (const struct source *source = sources; source; source = source->next)
        frames[explanation->frames_count++] = source->frame;
    explanation->frames = frames;
    call(explain, explanation);
    free(frames);
}

/* The sum of its IP header, as it stands here, is none of the file's. */
static void explain_datagram(struct explain *explain, const struct datagram *datagram) {
    struct parts parts;
    struct carry_capture_explanation explanation = explanation_of(&datagram->packet, true, &parts);
    for (size_t i = 0; i < datagram->count; i++) {
        const struct carry_packet_sum *sum = &datagram->sums[i];
        if (sum->field_offset < datagram->header_size)
            continue;
        add_finding(&explanation, &parts, datagram->sums, datagram->count, i);
        struct carry_capture_finding *finding = &parts.findings[explanation.findings_count - 1];
        finding->reassembled = true;
        finding->offset = carry_datagram_offset(datagram, sum->field_offset, sum->field_size);
    }
    call_for(explain, &explanation, datagram->sources);
}

static void finish_datagram(struct explain *explain, const struct datagram *datagram) {
    unsigned count = count_own(explain, datagram->sources);
    explain->waiting -= count;
    if (count)
        explain_datagram(explain, datagram);
}

static void finish_lost(void *context, enum carry_capture_reassembly why,
                        const struct source *sources) {
    struct explain *explain = context;
    unsigned count = count_own(explain, sources);
    struct carry_capture_explanation explanation = {.is_datagram = true, .reassembly = why};
    explain->waiting -= count;
    if (count)
        call_for(explain, &explanation, sources);
}

static void follow(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = carry_capture_frame(packet);
    carry_packet_check_fragment(&frame, NULL, NULL, 0, &fragment);
    if (!fragment.version)
        return;
    size_t count =
        carry_packet_check_fragment(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    bool is_own = packet->number == explain->number;
    explain->waiting += is_own;
    for (const struct datagram *datagram =
             carry_reassembler_add(explain->reassembler, packet, &fragment, sums, count);
         datagram; datagram = carry_reassembler_next(explain->reassembler)) {
        explain->waiting += is_own && datagram->holds_fragment;
        finish_datagram(explain, datagram);
    }
}

/* --- The frame --- */

/* Takes a packet for what it tells of its senders and flows. */
static void learn(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame frame = carry_capture_frame(packet);
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++) {
        carry_header_senders_add(explain->senders, &frame, &sums[i]);
        carry_flows_add(explain->flows, &frame, packet->number, &sums[i],
                        carry_cause_find(packet, sums, count, i).cause);
    }
}

/* Turns headers whose senders leave them to the network card into partial ones. Is one left, or a
   flow that is not refuted? */
static bool settle(const struct explain *explain,
                   const struct carry_capture_explanation *explanation, struct parts *parts) {
    bool open = false;
    for (size_t i = 0; i < explanation->findings_count; i++) {
        struct carry_capture_finding *finding = &parts->findings[i];
        open |= carry_flows_may_change(explain->flows, finding);
        if (!carry_header_senders_is_alone(&finding->sum))
            continue;
        const uint8_t *header =
            (const uint8_t *)explanation->frame.data + finding->sum.network_offset;
        if (carry_header_senders_leaves(explain->senders, header + 12))
            carry_finding_leave(finding);
        else
            open = true;
    }
    return open;
}

static void settle_flows(const struct explain *explain,
                         const struct carry_capture_explanation *explanation, struct parts *parts) {
    for (size_t i = 0; i < explanation->findings_count; i++)
        parts->findings[i].cause = carry_flows_settle(explain->flows, &parts->findings[i]);
}

/*
 * Explains the frame, and what its fragments belong to. A header of 0 waits for what other packets
 * tell of its sender, and damage for what they tell of its flow: then the frame comes last.
 */
static void explain_with_rest(struct explain *explain,
                              const struct carry_capture_explanation *explanation,
                              struct parts *parts) {
    struct carry_capture_packet other;
    bool open = settle(explain, explanation, parts);
    if (!open)
        call(explain, explanation);
    follow(explain, &explanation->packet);
    while (explain->waiting && !explain->cancelled &&
           carry_reader_next(explain->capture, &other) == CARRY_CAPTURE_PACKET) {
        learn(explain, &other);
        follow(explain, &other);
    }
    carry_reassembler_end(explain->reassembler);
    while (open && !explain->cancelled && settle(explain, explanation, parts) &&
           carry_reader_next(explain->capture, &other) == CARRY_CAPTURE_PACKET)
        learn(explain, &other);
    settle_flows(explain, explanation, parts);
    if (open)
        call(explain, explanation);
}

/* Of a packet whose bytes must stay while the capture is read on. */
static void explain_packet(struct explain *explain, const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_capture_packet kept = *packet;
    struct parts parts;
    uint8_t *copy = malloc(packet->captured + 1u);
    explain->no_memory |= !copy;
    if (!copy)
        return;
    if (packet->captured)
        memcpy(copy, packet->data, packet->captured);
    kept.data = copy;
    struct carry_capture_explanation explanation = explanation_of(&kept, false, &parts);
    size_t count = carry_packet_check(&explanation.frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        add_finding(&explanation, &parts, sums, count, i);
    explain_with_rest(explain, &explanation, &parts);
    free(copy);
}

/* CARRY_CAPTURE_PACKET if there is such a packet. */
static int find_packet(struct explain *explain, struct carry_capture_packet *packet) {
    int result;
    while ((result = carry_reader_next(explain->capture, packet)) == CARRY_CAPTURE_PACKET) {
        learn(explain, packet);
        if (packet->number == explain->number)
            return result;
        follow(explain, packet);
    }
    return result;
}

static int run(struct explain *explain, uint64_t *packets) {
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
    own.reassembler = carry_reassembler_create(NULL);
    own.senders = carry_header_senders_create();
    own.flows = carry_flows_create();
    if (own.reassembler)
        carry_reassembler_watch(own.reassembler, finish_lost, &own);
    int result = own.reassembler && own.senders && own.flows
                     ? run(&own, packets)
                     : carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (own.reassembler)
        carry_reassembler_watch(own.reassembler, NULL, NULL);
    carry_reassembler_free(own.reassembler);
    carry_header_senders_free(own.senders);
    carry_flows_free(own.flows);
    return result;
}
