/* SPDX-License-Identifier: MIT */
/* Checks captures: any thread judges a batch of packets, then one thread finishes the batches in
   order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "local_headers.h"
#include "pipeline.h"
#include "raw_ip.h"
#include "reassemble.h"
#include "summary.h"
#include "threads.h"

struct carry_capture_checker {
    struct carry_capture_check_options options;
    struct carry_capture_judge judge; /* without a judge its functions are NULL */
    void **states; /* states of the judge, by worker; NULL: the worker has none */
    bool *opened;  /* by worker: judge.open() was called */
    struct pipeline *pipeline;
    bool selects; /* only the protocols in `asked` count */
    bool asked[CARRY_PROTOCOL_COUNT];

    /* For the current capture. */
    struct carry_capture *capture;
    struct carry_capture_summary *summary;
    struct reassembler *reassembler; /* NULL: fragments are not reassembled */
    struct carry_capture_progress progress;
    uint64_t related; /* the last packet that options.related was called for */
    bool no_memory, cancelled;
};

/* --- A batch of packets: what any thread does --- */

/* Turns a bad sum of a header that holds 0 into a partial one if its packet stays on its machine,
   and corrects the counts. */
static void leave_local(struct batch *batch, const struct carry_frame *frame,
                        struct carry_packet_sum *sum) {
    uint64_t *counts = batch->tally.counts[sum->protocol];
    counts[sum->verdict]--;
    carry_local_headers_leave(frame, sum, 1);
    counts[sum->verdict]++;
}

/* Adds a sum that is not good. Its cause depends on all sums of the frame: they show which sum the
   packet's flags mean. */
static void add_imperfect(struct batch *batch, uint32_t index, struct carry_packet_sum *sums,
                          size_t count, size_t at) {
    const struct carry_capture_packet *packet = &batch->packets[index];
    const struct carry_frame frame = carry_capture_frame(packet);
    leave_local(batch, &frame, &sums[at]);
    const struct evidence evidence = carry_cause_find(packet, sums, count, at);
    carry_tally_add_imperfect(&batch->tally, &frame, &sums[at], &evidence);
    if (verdict_is_finding(sums[at].verdict))
        carry_pipeline_note(batch, &(struct note){index, NOTE_SUM, sums[at], evidence});
}

static void tally_sums(struct batch *batch, uint32_t index, struct carry_packet_sum *sums,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!carry_tally_add(&batch->tally, &sums[i]))
            add_imperfect(batch, index, sums, count, i);
}

/* Adds only the sums of the protocols asked for. */
static void add_selected(const struct carry_capture_checker *checker, struct batch *batch,
                         uint32_t index, struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (checker->asked[sums[i].protocol] && !carry_tally_add(&batch->tally, &sums[i]))
            add_imperfect(batch, index, sums, count, i);
}

/* Checks whether the verdict is final: reassembly may verify unverifiable sums, and finish_sum()
   settles headers that hold 0. */
static bool is_settled(const struct carry_packet_sum *sum) {
    return sum->verdict != CARRY_VERDICT_UNVERIFIABLE && !carry_header_senders_is_alone(sum);
}

static void add_times(const struct carry_capture_checker *checker, struct batch *batch,
                      uint32_t index, const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (checker->asked[sums[i].protocol] && is_settled(&sums[i]))
            carry_timeline_add(&batch->tally.timeline, batch->packets[index].time_ns,
                               sums[i].verdict);
}

/* Checks a frame with the judge. Calls carry_packet_check_fragment() instead if the worker has no
   state of the judge, or if the judge returns -1. */
static size_t check_frame(const struct carry_capture_checker *checker, void *state,
                          const struct carry_frame *frame, struct carry_packet_sum *sums,
                          struct carry_packet_fragment *fragment) {
    int count = state ? checker->judge.check(state, frame, sums) : -1;
    if (count < 0)
        return carry_packet_check_fragment(frame, &checker->options.packet, sums,
                                           CARRY_PACKET_SUMS_MAX, fragment);
    fragment->version = 0;
    fragment->deeper = false;
    return (size_t)count;
}

static void examine_packet(const struct carry_capture_checker *checker, void *state,
                           struct batch *batch, uint32_t index) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct carry_capture_packet *packet = &batch->packets[index];
    struct carry_capture_totals *totals = &batch->tally.totals;
    struct carry_packet_fragment fragment;
    struct carry_frame frame = carry_capture_frame(packet);
    size_t count = check_frame(checker, state, &frame, sums, &fragment);
    if (count == 0 && !carry_packet_knows_link(packet->linktype)) {
        carry_pipeline_note(batch, &(struct note){.packet = index, .kind = NOTE_UNKNOWN_LINK});
        return;
    }
    carry_totals_add(totals, packet);
    if (count == 0) {
        totals->without++;
        totals->raw_ip += carry_raw_ip_is_in_ethernet(&frame);
    }
    totals->deeper += fragment.deeper;
    if (__builtin_expect(packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT && !fragment.version, 0))
        totals->left_without += carry_cause_contradicts(packet, sums, count);
    if (checker->selects)
        add_selected(checker, batch, index, sums, count);
    else
        tally_sums(batch, index, sums, count);
    if (checker->options.timeline)
        add_times(checker, batch, index, sums, count);
    if (__builtin_expect(fragment.version && !checker->options.no_reassembly, 0))
        carry_pipeline_note(batch, &(struct note){.packet = index, .kind = NOTE_FRAGMENT});
}

/* Returns the judge's state for this worker, and opens the state in the first call; NULL if there
   is none. Only the worker's own thread calls this. */
static void *judge_state(struct carry_capture_checker *checker, unsigned worker) {
    if (!checker->judge.open)
        return NULL;
    if (!checker->opened[worker]) {
        checker->opened[worker] = true;
        checker->states[worker] = checker->judge.open(checker->judge.user);
    }
    return checker->states[worker];
}

static void examine_batch(void *context, unsigned worker, struct batch *batch) {
    struct carry_capture_checker *checker = context;
    void *state = judge_state(checker, worker);
    if (state &&
        !checker->judge.prepare(state, batch->packets + batch->done, batch->count - batch->done))
        state = NULL;
    for (uint32_t i = batch->done; i < batch->count; i++)
        examine_packet(checker, state, batch, i);
}

/* --- A batch of packets: what is done in their order --- */

/* The packets that hold a sum. */
struct place {
    const struct carry_capture_packet *whole;  /* the packet that holds the sum, or a datagram */
    const struct carry_capture_packet *packet; /* `whole`, or the packet that completed it */
    uint32_t located;                          /* bytes of `whole` that lie together in the file */
};

/* Checks whether the sum may be listed, either now or once all packets of its sender are known. */
static bool may_be_listed(const struct carry_capture_check_options *options,
                          const struct carry_packet_sum *sum) {
    return verdict_is_in(sum->verdict, options->listed) ||
           (carry_header_senders_is_alone(sum) &&
            verdict_is_in(CARRY_VERDICT_PARTIAL, options->listed));
}

static struct kept_finding describe_sum(struct carry_capture_checker *checker,
                                        const struct place *place,
                                        const struct carry_packet_sum *sum,
                                        const struct evidence *evidence) {
    const struct carry_frame frame = carry_capture_frame(place->whole);
    struct kept_finding found = {0};
    struct carry_capture_finding *finding = &found.finding;
    carry_finding_describe(finding, place->whole, sum, evidence);
    finding->packet = place->packet;
    finding->reassembled = place->whole != place->packet;
    if ((uint64_t)sum->field_offset + sum->field_size > place->located)
        finding->offset = CARRY_CAPTURE_NOWHERE;
    if (carry_header_senders_is_alone(sum))
        found.sender = carry_header_senders_key(checker->summary->headers, &frame, sum);
    return found;
}

static void report_finding(struct carry_capture_checker *checker,
                           const struct carry_capture_finding *finding) {
    if (checker->options.finding && !checker->cancelled &&
        verdict_is_in(finding->sum.verdict, checker->options.listed))
        checker->cancelled = !checker->options.finding(checker->options.user, finding);
}

/* Reports a finding, and keeps it if the summary has room, unless options.related got its packet.
   `cause` is the cause that all packets so far show. */
static void add_finding(struct carry_capture_checker *checker, const struct place *place,
                        const struct carry_packet_sum *sum, const struct evidence *evidence,
                        enum carry_capture_cause cause) {
    struct findings *kept = &checker->summary->findings;
    if ((!checker->options.finding && !carry_findings_want(kept, sum)) ||
        place->packet->number == checker->related)
        return;
    struct kept_finding found = describe_sum(checker, place, sum, evidence);
    if (carry_findings_want(kept, sum))
        carry_findings_add(kept, &found);
    found.finding.early = carry_header_senders_is_alone(sum) ||
                          carry_flows_may_change(checker->summary->flows, &found.finding);
    found.finding.cause = cause;
    report_finding(checker, &found.finding);
}

/* Reports a sum as the summary of an earlier check counts it. */
static void report_settled(struct carry_capture_checker *checker, const struct place *place,
                           const struct carry_packet_sum *sum, const struct evidence *evidence) {
    const struct carry_capture_summary *settled = checker->options.settled;
    struct kept_finding found = describe_sum(checker, place, sum, evidence);
    carry_finding_settle(&found, settled->headers, settled->flows);
    report_finding(checker, &found.finding);
}

static void add_time(struct carry_capture_checker *checker,
                     const struct carry_capture_packet *packet, unsigned verdict) {
    carry_timeline_add(&checker->summary->tally.timeline, packet->time_ns, verdict);
}

/* Counts and reports a sum, as judged by all packets so far. With options.settled, only reports
   it. */
static void finish_sum(struct carry_capture_checker *checker, const struct place *place,
                       const struct carry_packet_sum *sum, struct evidence evidence) {
    if (checker->options.settled) {
        report_settled(checker, place, sum, &evidence);
        return;
    }
    struct carry_frame frame = carry_capture_frame(place->whole);
    struct carry_packet_sum known = *sum;
    const bool alone = checker->options.alone;
    if (carry_summary_add_sender(checker->summary, &frame, sum, alone) != sum->verdict) {
        carry_cause_leave(&known);
        evidence = carry_cause_left();
    }
    if (checker->options.timeline && carry_header_senders_is_alone(sum))
        add_time(checker, place->packet, known.verdict);
    enum carry_capture_cause cause = evidence.cause;
    if (!alone)
        cause = carry_flows_add(checker->summary->flows, place->whole, place->packet->number,
                                &known, cause);
    checker->progress.wrong += verdict_is_in(known.verdict, checker->options.wrong);
    if (may_be_listed(&checker->options, &known))
        add_finding(checker, place, &known, &evidence, cause);
}

/* Adds a good sum, which may refute the cause that a flow's bad sums suggest. */
static void refute_flow(struct carry_capture_checker *checker,
                        const struct carry_capture_packet *packet,
                        const struct carry_packet_sum *sum) {
    if (sum->verdict == CARRY_VERDICT_GOOD)
        carry_flows_add(checker->summary->flows, packet, packet->number, sum,
                        CARRY_CAPTURE_CAUSE_NONE);
}

/* Counts a sum of the datagram that this packet completed. */
static void finish_datagram_sum(struct carry_capture_checker *checker,
                                const struct datagram *datagram,
                                const struct carry_capture_packet *packet,
                                const struct carry_packet_sum *sum) {
    const struct place place = {&datagram->packet, packet, datagram->located};
    struct carry_frame last = carry_capture_frame(packet);
    if (checker->options.timeline && is_settled(sum))
        add_time(checker, packet, sum->verdict);
    if (carry_tally_add(&checker->summary->tally, sum)) {
        refute_flow(checker, &datagram->packet, sum);
        return;
    }
    const struct evidence evidence = carry_cause_find(
        &datagram->packet, datagram->sums, datagram->count, carry_datagram_index(datagram, sum));
    carry_tally_add_imperfect(&checker->summary->tally, &last, sum, &evidence);
    if (verdict_is_finding(sum->verdict))
        finish_sum(checker, &place, sum, evidence);
}

/* Counts the sums of a datagram, in place of the sums that its first fragment left unverifiable. */
static void finish_datagram_sums(struct carry_capture_checker *checker,
                                 const struct datagram *datagram,
                                 const struct carry_capture_packet *packet) {
    for (size_t i = 0; i < datagram->superseded_count; i++)
        if (checker->asked[datagram->superseded[i]])
            carry_tally_supersede(&checker->summary->tally, datagram->superseded[i]);
    for (size_t i = 0; i < datagram->fresh_count; i++)
        if (checker->asked[datagram->fresh[i].protocol])
            finish_datagram_sum(checker, datagram, packet, &datagram->fresh[i]);
}

/* Examines a fragment again instead of keeping its sums in the batch: fragments are rare. */
static void finish_fragment(struct carry_capture_checker *checker,
                            const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = carry_capture_frame(packet);
    size_t count = carry_packet_check_fragment(&frame, &checker->options.packet, sums,
                                               CARRY_PACKET_SUMS_MAX, &fragment);
    for (const struct datagram *datagram =
             carry_reassembler_add(checker->reassembler, packet, &fragment, sums, count);
         datagram; datagram = carry_reassembler_next(checker->reassembler))
        finish_datagram_sums(checker, datagram, packet);
}

static void finish_note(struct carry_capture_checker *checker,
                        const struct carry_capture_packet *packet, const struct note *note) {
    const struct place place = {packet, packet, packet->captured};
    if (note->kind == NOTE_SUM)
        finish_sum(checker, &place, &note->sum, note->evidence);
    else if (note->kind == NOTE_UNKNOWN_LINK)
        carry_summary_add_unknown(checker->summary, packet);
    else if (checker->reassembler)
        finish_fragment(checker, packet);
}

/* Examines a packet again if one of its good sums may refute a flow. */
static void refute_flows(struct carry_capture_checker *checker,
                         const struct carry_capture_packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    if (!carry_flows_want(checker->summary->flows, packet))
        return;
    const struct carry_frame frame = carry_capture_frame(packet);
    const size_t count =
        carry_packet_check(&frame, &checker->options.packet, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        refute_flow(checker, packet, &sums[i]);
}

/* Refutes flows by the packets from index `from` up to, but not including, `to`; returns `to`.
   Their notes must be finished. */
static uint32_t refute_between(struct carry_capture_checker *checker, const struct batch *batch,
                               uint32_t from, uint32_t to) {
    if (carry_flows_any(checker->summary->flows))
        for (uint32_t i = from; i < to; i++)
            refute_flows(checker, &batch->packets[i]);
    return to;
}

/* --- A batch of packets that are judged alone --- */

static bool is_related(const struct carry_capture_checker *checker,
                       const struct carry_capture_packet *packet, const struct note *note) {
    const struct carry_frame frame = carry_capture_frame(packet);
    if (note->kind != NOTE_SUM)
        return note->kind == NOTE_FRAGMENT;
    return carry_flows_keeps(&note->sum, note->evidence.cause) ||
           carry_header_senders_are_concerned(checker->summary->headers, &frame, &note->sum);
}

/* Calls options.related for a packet before its first note, if any of its notes relates it to other
   packets. */
static void relate_packet(struct carry_capture_checker *checker, const struct batch *batch,
                          size_t first) {
    const struct note *notes = batch->notes;
    const struct carry_capture_packet *packet = &batch->packets[notes[first].packet];
    bool related = false;
    if (first && notes[first - 1].packet == notes[first].packet)
        return;
    for (size_t i = first; i < batch->notes_count && notes[i].packet == notes[first].packet; i++)
        related |= is_related(checker, packet, &notes[i]);
    if (!related)
        return;
    checker->related = packet->number;
    checker->cancelled = !checker->options.related(checker->options.user, packet);
}

static bool finish_batch(void *context, const struct batch *batch) {
    struct carry_capture_checker *checker = context;
    uint32_t passed = 0;
    for (size_t i = 0; i < batch->notes_count && !checker->cancelled; i++) {
        const struct note *note = &batch->notes[i];
        passed = refute_between(checker, batch, passed, note->packet);
        if (checker->options.related)
            relate_packet(checker, batch, i);
        finish_note(checker, &batch->packets[note->packet], note);
    }
    refute_between(checker, batch, passed, batch->count);
    checker->no_memory |= batch->no_memory;
    return !checker->no_memory && !checker->cancelled;
}

/* Good sums may refute flows. */
static bool reads_packets(void *context) {
    const struct carry_capture_checker *checker = context;
    return carry_flows_any(checker->summary->flows);
}

static bool select_packet(void *context, const struct carry_capture_packet *packet) {
    struct carry_capture_checker *checker = context;
    const bool selected = checker->options.select(checker->options.user, packet);
    checker->summary->tally.totals.unselected += !selected;
    return selected;
}

static bool watch_progress(void *context, uint64_t packets) {
    struct carry_capture_checker *checker = context;
    const struct carry_capture_check_options *options = &checker->options;
    checker->progress.packets = packets;
    checker->progress.position = carry_capture_position(checker->capture);
    if (options->progress)
        checker->cancelled |= !options->progress(options->user, &checker->progress);
    return !checker->cancelled;
}

/* --- A capture --- */

static bool begin_check(struct carry_capture_checker *checker, struct carry_capture *capture,
                        struct carry_capture_summary *summary) {
    const bool reassembles = !checker->options.no_reassembly && !checker->options.alone;
    checker->capture = capture;
    checker->summary = summary;
    checker->progress = (struct carry_capture_progress){0};
    checker->related = 0;
    checker->no_memory = checker->cancelled = false;
    checker->reassembler = reassembles ? carry_reassembler_create(&checker->options.packet) : NULL;
    if (carry_summary_clear(summary, checker->options.kept) &&
        (checker->reassembler || !reassembles))
        return true;
    carry_reassembler_free(checker->reassembler);
    checker->reassembler = NULL;
    checker->summary = NULL;
    return false;
}

static void settle_check(struct carry_capture_checker *checker) {
    struct carry_capture_summary *summary = checker->summary;
    summary->tally.totals.reassembled = checker->reassembler;
    if (checker->reassembler) {
        carry_reassembler_end(checker->reassembler);
        memcpy(summary->reassembly, carry_reassembler_counts(checker->reassembler),
               sizeof summary->reassembly);
    }
    if (checker->options.alone) /* the senders that is_related() added must not count */
        carry_header_senders_clear(summary->headers);
    carry_summary_settle(summary, checker->options.listed);
}

static void end_check(struct carry_capture_checker *checker) {
    carry_pipeline_take_tally(checker->pipeline, &checker->summary->tally);
    settle_check(checker);
    carry_reassembler_free(checker->reassembler);
    checker->reassembler = NULL;
    checker->summary = NULL;
}

static int checker_result(const struct carry_capture_checker *checker, int end) {
    if (checker->no_memory)
        return carry_format_fail(checker->capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (checker->cancelled)
        return carry_format_end(checker->capture, CARRY_ERROR_CANCELLED, 0);
    return end == CARRY_CAPTURE_END ? CARRY_OK : end;
}

int carry_capture_checker_run(struct carry_capture_checker *checker, struct carry_capture *capture,
                              struct carry_capture_summary *summary) {
    int result = CARRY_CAPTURE_END;
    if (begin_check(checker, capture, summary)) {
        result = carry_pipeline_run(checker->pipeline, capture, checker->options.packets);
        end_check(checker);
    } else {
        checker->no_memory = true;
    }
    return checker_result(checker, result);
}

/* --- Packets of the caller --- */

int carry_capture_checker_begin(struct carry_capture_checker *checker,
                                struct carry_capture_summary *summary) {
    if (checker->summary)
        return CARRY_ERROR_INVALID;
    return begin_check(checker, NULL, summary) ? CARRY_OK : CARRY_ERROR_MEMORY;
}

int carry_capture_checker_add(struct carry_capture_checker *checker,
                              const struct carry_capture_packet *packets, size_t count) {
    if (!checker->summary)
        return CARRY_ERROR_INVALID;
    if (!checker->cancelled && !checker->no_memory)
        carry_pipeline_pass(checker->pipeline, packets, count);
    carry_pipeline_take_tally(checker->pipeline, &checker->summary->tally);
    if (checker->no_memory)
        return CARRY_ERROR_MEMORY;
    return checker->cancelled ? CARRY_ERROR_CANCELLED : CARRY_OK;
}

int carry_capture_checker_end(struct carry_capture_checker *checker) {
    if (!checker->summary)
        return CARRY_ERROR_INVALID;
    end_check(checker);
    return CARRY_OK;
}

/* --- A checker --- */

static void set_options(struct carry_capture_checker *checker,
                        const struct carry_capture_check_options *options) {
    if (options)
        checker->options = *options;
    struct carry_capture_check_options *own = &checker->options;
    own->threads = own->threads ? own->threads : carry_threads_cores();
    own->wrong = own->wrong ? own->wrong : CARRY_CAPTURE_WRONG_VERDICTS;
    own->listed = own->listed ? own->listed : own->wrong;
    own->packets = own->packets ? own->packets : UINT64_MAX;
    own->related = own->alone ? own->related : NULL;
    checker->selects = own->protocols;
    memset(checker->asked, !checker->selects, sizeof checker->asked);
    for (size_t i = 0; checker->selects && i < own->protocol_count; i++)
        checker->asked[own->protocols[i]] = true;
    own->protocols = NULL;
    if (own->judge)
        checker->judge = *own->judge;
    own->judge = NULL;
}

static bool open_checker(struct carry_capture_checker *checker) {
    const unsigned threads = checker->options.threads;
    const struct pipeline_work work = {
        .examine = examine_batch,
        .finish = finish_batch,
        .reads = reads_packets,
        .select = checker->options.select ? select_packet : NULL,
        .watch = watch_progress,
        .copies = checker->judge.open,
        .context = checker,
    };
    checker->states = calloc(threads, sizeof *checker->states);
    checker->opened = calloc(threads, sizeof *checker->opened);
    checker->pipeline = carry_pipeline_open(threads, &work);
    return checker->states && checker->opened && checker->pipeline;
}

static bool are_protocols(const enum carry_protocol *protocols, size_t count) {
    for (size_t i = 0; protocols && i < count; i++)
        if ((unsigned)protocols[i] >= CARRY_PROTOCOL_COUNT)
            return false;
    return true;
}

static bool are_valid_options(const struct carry_capture_check_options *options) {
    const struct carry_capture_judge *judge = options->judge;
    return options->threads <= CARRY_CAPTURE_THREADS_MAX &&
           !((options->listed | options->wrong) & ~CARRY_CAPTURE_FINDING_VERDICTS) &&
           are_protocols(options->protocols, options->protocol_count) &&
           (!judge || (judge->open && judge->close && judge->prepare && judge->check));
}

int carry_capture_checker_create(const struct carry_capture_check_options *options,
                                 struct carry_capture_checker **checker) {
    *checker = NULL;
    if (options && !are_valid_options(options))
        return CARRY_ERROR_INVALID;
    struct carry_capture_checker *made = calloc(1, sizeof *made);
    if (!made)
        return CARRY_ERROR_MEMORY;
    set_options(made, options);
    if (!open_checker(made)) {
        carry_capture_checker_free(made);
        return CARRY_ERROR_MEMORY;
    }
    *checker = made;
    return CARRY_OK;
}

void carry_capture_checker_free(struct carry_capture_checker *checker) {
    if (!checker)
        return;
    carry_pipeline_close(checker->pipeline);
    carry_reassembler_free(checker->reassembler);
    for (unsigned i = 0; checker->states && checker->opened && i < checker->options.threads; i++)
        if (checker->states[i])
            checker->judge.close(checker->judge.user, checker->states[i]);
    free(checker->states);
    free(checker->opened);
    free(checker);
}

int carry_capture_check(struct carry_capture *capture,
                        const struct carry_capture_check_options *options,
                        struct carry_capture_summary **summary) {
    struct carry_capture_checker *checker;
    *summary = carry_capture_summary_create();
    int code = *summary ? carry_capture_checker_create(options, &checker) : CARRY_ERROR_MEMORY;
    if (code != CARRY_OK)
        return carry_format_fail(capture, code, 0);
    code = carry_capture_checker_run(checker, capture, *summary);
    carry_capture_checker_free(checker);
    return code;
}
