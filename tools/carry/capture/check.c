/* SPDX-License-Identifier: MIT */
/* carry check: verifies every checksum of captures. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <carry/packet.h>

#include "capture/bad_file.h"
#include "capture/capture.h"
#include "capture/check_jit.h"
#include "capture/check_options.h"
#include "capture/check_print.h"
#include "capture/findings.h"
#include "capture/folder.h"
#include "capture/pipeline.h"
#include "capture/reassemble.h"
#include "capture/report.h"
#include "capture/tally.h"
#include "common/command.h"
#include "common/file_name.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/signals.h"

/* All captures of one call. */
struct run {
    struct check_options options;
    struct pipeline *pipeline;
    struct check_jit *jit;     /* NULL: not wanted */
    struct bad_file *bad_file; /* NULL: not wanted */
    bool spares_input;         /* the bad file is given up: it would replace a capture */
    struct check_print print;
    uint64_t skipped; /* files of folders that are no captures */
    int status;       /* the gravest so far */

    /* Of the present capture. */
    const char *path;
    bool streams; /* who watches the output is to see each line at once */
    bool no_memory;
    struct tally *tally;
    struct reassembler *reassembler; /* NULL: not wanted */
    struct findings findings;
    uint64_t last_written; /* number of the packet */
    uint64_t wrong_sums;   /* so far, for the progress line */
    uint64_t bytes_read;   /* of the captures before */
    struct capture *capture;
};

static void note_status(struct run *run, int status) {
    run->status = command_graver(run->status, status);
}

/* --- A batch of packets: what any thread does --- */

/* Keeps the sums of the protocols that are asked for. */
static size_t select_sums(const bool *protocols, struct carry_packet_sum *sums, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (protocols[sums[i].protocol])
            sums[kept++] = sums[i];
    return kept;
}

static void add_sums(struct batch *batch, uint32_t index, const struct carry_frame *frame,
                     const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!tally_add_sum(&batch->tally, frame, &sums[i]) && tally_names(sums[i].verdict))
            pipeline_note(batch, &(struct note){index, NOTE_SUM, sums[i]});
}

/* One of so many packets from `index` on; captures repeat themselves, so never the same one. */
static const struct packet *choose(const struct batch *batch, uint32_t index, uint32_t count) {
    uint64_t chance = batch->packets[index].number * UINT64_C(0x9e3779b97f4a7c15);
    return &batch->packets[index + (uint32_t)(chance >> 32) % count];
}

/* Has the thread learn from some of the packets; true if there are functions for many of them. */
static bool learn(const struct run *run, const struct batch *batch) {
    uint32_t step = check_jit_step(run->jit), known = 0;
    for (uint32_t i = 0, packets; i < batch->count; i += packets) {
        packets = batch->count - i < step ? batch->count - i : step;
        struct carry_frame frame = tally_frame(choose(batch, i, packets));
        known += check_jit_learn(run->jit, &frame, packets) ? packets : 0;
    }
    return known > batch->count / 8;
}

/* carry_packet_check_fragment(), with `functions` by one made for such frames if there is one. */
static size_t check_frame(const struct check_options *options, bool functions,
                          const struct carry_frame *frame, struct carry_packet_sum *sums,
                          struct carry_packet_fragment *fragment) {
    int count = functions ? check_jit_packet(frame, sums) : -1;
    if (count < 0)
        return carry_packet_check_fragment(frame, &options->packet, sums, CARRY_PACKET_SUMS_MAX,
                                           fragment);
    fragment->version = 0;
    fragment->deeper = false;
    return (size_t)count;
}

static void look_at_packet(const struct check_options *options, bool functions, struct batch *batch,
                           uint32_t index) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct packet *packet = &batch->packets[index];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = tally_frame(packet);
    size_t count = check_frame(options, functions, &frame, sums, &fragment);
    if (count == 0 && !carry_packet_knows_link(packet->linktype)) {
        pipeline_note(batch, &(struct note){.packet = index, .kind = NOTE_UNKNOWN_LINK});
        return;
    }
    batch->tally.packets++;
    batch->tally.bytes += packet->captured;
    batch->tally.without += count == 0;
    batch->tally.deeper += fragment.deeper;
    if (options->selects)
        count = select_sums(options->protocols, sums, count);
    add_sums(batch, index, &frame, sums, count);
    if (__builtin_expect(fragment.version && options->reassemble, 0))
        pipeline_note(batch, &(struct note){.packet = index, .kind = NOTE_FRAGMENT});
}

static void look(const void *context, struct batch *batch) {
    const struct run *run = context;
    bool functions = run->jit && learn(run, batch);
    for (uint32_t i = 0; i < batch->count; i++)
        look_at_packet(&run->options, functions, batch, i);
}

/* --- A batch of packets: what is done in their order --- */

/*
 * Lists a sum at once, or keeps it for the summary while there is room. Of the packet, `located`
 * bytes stand in the file as they do here.
 */
static void add_finding(struct run *run, const struct packet *packet, uint32_t located,
                        const struct carry_packet_sum *sum) {
    struct finding finding;
    struct carry_frame frame = tally_frame(packet);
    if (!run->options.bad_only && !findings_want(&run->findings, sum))
        return;
    tally_describe(&finding, packet, &frame, sum);
    if ((uint64_t)sum->field_offset + sum->field_size > located)
        finding.offset = FINDING_NOWHERE;
    if (run->options.bad_only)
        check_print_finding(&run->print, run->path, &finding);
    else
        findings_add(&run->findings, &finding);
}

static void note_wrong(struct run *run, const struct packet *packet) {
    run->wrong_sums++;
    if (!run->bad_file || run->last_written == packet->number)
        return;
    run->last_written = packet->number;
    bad_file_add(run->bad_file, run->path, packet);
}

/*
 * Lists and writes a sum by what is known so far. It stands in `whole`, a packet or a datagram that
 * `packet` completed.
 */
static void finish_named(struct run *run, const struct packet *whole, uint32_t located,
                         const struct packet *packet, const struct carry_packet_sum *sum) {
    struct carry_frame frame = tally_frame(whole);
    struct carry_packet_sum known = *sum;
    if (tally_add_sender(run->tally, &frame, sum) != sum->verdict)
        cause_leave(&known);
    if (tally_is_in(known.verdict, run->options.listed))
        add_finding(run, whole, located, &known);
    if (tally_is_in(known.verdict, run->options.wrong))
        note_wrong(run, packet);
}

/* A sum of the datagram that a packet completed. */
static void finish_sum_of(struct run *run, const struct datagram *datagram,
                          const struct packet *packet, const struct carry_packet_sum *sum) {
    struct carry_frame last = tally_frame(packet);
    if (!tally_add_sum(run->tally, &last, sum) && tally_names(sum->verdict))
        finish_named(run, &datagram->packet, datagram->located, packet, sum);
}

/* Its sums count in place of what its first fragment could say. */
static void finish_datagram(struct run *run, const struct datagram *datagram,
                            const struct packet *packet) {
    const bool *protocols = run->options.protocols;
    for (size_t i = 0; i < datagram->superseded_count; i++)
        if (protocols[datagram->superseded[i]])
            tally_supersede(run->tally, datagram->superseded[i]);
    for (size_t i = 0; i < datagram->fresh_count; i++)
        if (protocols[datagram->fresh[i].protocol])
            finish_sum_of(run, datagram, packet, &datagram->fresh[i]);
}

/* Fragments are rare enough to be looked at once more, and their sums are cheap: no batch keeps
   them. */
static void finish_fragment(struct run *run, const struct packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = tally_frame(packet);
    size_t count = carry_packet_check_fragment(&frame, &run->options.packet, sums,
                                               CARRY_PACKET_SUMS_MAX, &fragment);
    for (const struct datagram *datagram =
             reassembler_add(run->reassembler, packet, &fragment, sums, count);
         datagram; datagram = reassembler_next(run->reassembler))
        finish_datagram(run, datagram, packet);
}

static void finish_note(struct run *run, const struct packet *packet, const struct note *note) {
    switch (note->kind) {
    case NOTE_SUM:
        finish_named(run, packet, packet->captured, packet, &note->sum);
        break;
    case NOTE_UNKNOWN_LINK:
        tally_add_unknown(run->tally, packet);
        break;
    case NOTE_FRAGMENT:
        finish_fragment(run, packet);
        break;
    }
}

static bool finish(void *context, const struct batch *batch) {
    struct run *run = context;
    for (size_t i = 0; i < batch->notes_count && !command_output_failed(); i++) {
        const struct note *note = &batch->notes[i];
        finish_note(run, &batch->packets[note->packet], note);
    }
    if (run->streams)
        fflush(stdout);
    run->no_memory |= batch->no_memory;
    return !run->no_memory && !command_output_failed();
}

/* --- A capture --- */

static void file_error(struct run *run, const char *path, const char *reason) {
    progress_hide();
    note_status(run, command_file_error(path, reason));
}

static void draw(void *context, uint64_t packets) {
    const struct run *run = context;
    progress_count(run->print.total->packets + packets, run->wrong_sums);
    progress_draw(capture_position(run->capture));
}

static enum capture_result run_capture(struct run *run, struct capture *capture) {
    run->capture = capture;
    progress_begin_file(&(struct progress_file){
        .size = capture_size(capture),
        .before = run->bytes_read,
        .path = run->print.many ? run->path : NULL,
    });
    if (capture_waits(capture))
        capture_stop_on(capture, signals_stop_begin());
    enum capture_result end = pipeline_run(run->pipeline, capture, run->options.packets);
    signals_stop_end();
    run->bytes_read += capture_position(capture);
    progress_hide();
    pipeline_take_tally(run->pipeline, run->tally);
    return end;
}

static void report_capture(struct run *run, const struct capture *capture,
                           enum capture_result end) {
    const struct reassembler *reassembler = run->reassembler;
    const struct report report = {
        .path = run->path,
        .tally = run->tally,
        .wrong = run->options.wrong,
        .listed = run->options.listed,
        .findings = run->findings.list,
        .findings_count = run->findings.count,
        .reassembly = reassembler ? reassembler_counts(reassembler) : NULL,
        .end = end,
        .problem = capture_problem(capture),
    };
    note_status(run, check_print_capture(&run->print, &report));
}

/* Says what was not known yet when lines and packets went out. */
static void note_early(const struct run *run) {
    char number[TEXT_SIZE], text[3 * TEXT_SIZE + 128];
    uint64_t count = tally_called_bad(run->tally);
    bool were_out = run->options.bad_only || (run->bad_file && !run->options.quiet);
    if (!count || !were_out || tally_is_in(CARRY_VERDICT_PARTIAL, run->options.wrong))
        return;
    snprintf(text, sizeof text,
             "reported %s IPv4 header sum%s of 0 as bad before later packets of the same sender "
             "showed transmit offload",
             text_count(number, count), text_plural(count));
    command_file_error(run->path, text);
}

static bool open_capture(struct run *run) {
    const struct check_options *options = &run->options;
    tally_clear(run->tally);
    run->reassembler = options->reassemble ? reassembler_create(&options->packet) : NULL;
    return run->reassembler || !options->reassemble;
}

static void check_open_capture(struct run *run, const char *path, struct capture *capture) {
    run->path = path;
    run->streams = run->options.bad_only && capture_size(capture) == 0;
    run->findings.count = run->findings.waiting = 0;
    run->last_written = 0;
    enum capture_result end = run_capture(run, capture);
    if (run->reassembler)
        reassembler_end(run->reassembler);
    tally_settle(run->tally);
    findings_settle(&run->findings, run->tally, run->options.listed);
    report_capture(run, capture, end);
    note_early(run);
    if (run->no_memory)
        file_error(run, path, strerror(ENOMEM));
}

static void check_capture(struct run *run, const char *path, struct capture *capture) {
    if (open_capture(run))
        check_open_capture(run, path, capture);
    else
        file_error(run, path, strerror(errno));
    reassembler_free(run->reassembler);
}

static void report_unopened(struct run *run, const char *path, const char *reason) {
    progress_hide();
    note_status(run, check_print_unopened(&run->print, path, reason));
}

/* --- Files and folders --- */

/* Neither a capture nor called so, and nothing that went wrong on the way to see that. */
static bool is_other(struct capture *capture, const char *path) {
    return !capture_recognised(capture) && !capture_input(capture)->error &&
           !capture_is_foreign(capture) && !file_name_is_capture(path);
}

/* Gives the file of bad packets up if it would replace this capture. */
static bool spares(struct run *run, const struct stat *status) {
    bool replaces = run->bad_file && bad_file_replaces(run->bad_file, status);
    run->spares_input |= replaces;
    return replaces;
}

static void check_readable(struct run *run, const char *path, struct capture *capture,
                           const struct stat *status) {
    if (run->bad_file && S_ISREG(status->st_mode))
        bad_file_restrict(run->bad_file, status->st_mode);
    check_capture(run, path, capture);
}

/* In a folder that is checked again, what the run before wrote there. */
static bool is_earlier_output(const struct run *run, const struct stat *status, const char *path) {
    return run->bad_file && bad_file_is_earlier(run->bad_file, status, path);
}

/* What this command writes into a folder is not even one of the other files there. */
static void check_opened(struct run *run, const char *path, struct capture *capture,
                         const struct stat *status, bool in_folder) {
    if (output_is_own(status)) {
        if (!in_folder)
            report_unopened(run, path, "is what this command writes");
    } else if (in_folder && is_earlier_output(run, status, path)) {
        return;
    } else if (spares(run, status)) {
        report_unopened(run, path, "not checked, as --write-bad would replace it; both are left");
    } else if (in_folder && (output_is_unfinished(path) || is_other(capture, path))) {
        run->skipped++;
    } else {
        check_readable(run, path, capture, status);
    }
}

static void check_file(struct run *run, const char *path, bool in_folder) {
    struct stat status;
    struct capture *capture = capture_open(path);
    if (capture && capture_status(capture, &status))
        check_opened(run, path, capture, &status, in_folder);
    else
        report_unopened(run, path, strerror(errno));
    if (capture)
        capture_close(capture);
}

static void check_file_of_folder(void *context, const char *path) {
    if (!command_output_failed())
        check_file(context, path, true);
}

static void report_unread(void *context, const char *path, int error) {
    report_unopened(context, path, strerror(error));
}

static void check_folder(struct run *run, const char *path) {
    const struct folder_visitor visitor = {check_file_of_folder, report_unread, run};
    uint64_t before = run->print.captures;
    folder_walk(path, &visitor);
    if (run->print.captures == before)
        report_unopened(run, path, "no captures in this folder");
}

static void check_files(struct run *run, char **paths, int count) {
    for (int i = 0; i < count && !command_output_failed(); i++) {
        if (folder_is(paths[i]))
            check_folder(run, paths[i]);
        else
            check_file(run, paths[i], false);
    }
}

/* --- The command --- */

static bool open_run(struct run *run, bool many) {
    const struct pipeline_work work = {look, finish, draw, run};
    run->tally = tally_new();
    run->pipeline = pipeline_open(run->options.threads, &work);
    return findings_open(&run->findings, run->options.show) &&
           check_print_open(&run->print, &run->options, many) && run->tally && run->pipeline;
}

static void close_run(struct run *run) {
    if (run->pipeline)
        pipeline_close(run->pipeline);
    check_jit_close(run->jit);
    findings_close(&run->findings);
    tally_free(run->tally);
    check_print_close(&run->print);
}

static void close_bad_file(struct run *run) {
    bool keep = !run->no_memory && !run->spares_input && !command_output_failed();
    if (run->bad_file && command_output_failed())
        file_error(run, run->options.write_bad, "is not written, as the output could not be");
    if (run->bad_file && !bad_file_close(run->bad_file, keep))
        file_error(run, run->options.write_bad, output_problem(errno));
}

/* Lines that are listed meanwhile would stand among what is drawn. */
static bool shows_progress(const struct check_options *options) {
    bool lists_here = options->bad_only && isatty(STDOUT_FILENO);
    return options->quiet || (!lists_here && !progress_is_piped());
}

static void check_all(struct run *run, char **paths, int count) {
    if (run->options.write_bad) {
        run->bad_file = bad_file_open(run->options.write_bad);
        if (!run->bad_file) {
            file_error(run, run->options.write_bad, output_problem(errno));
            return;
        }
    }
    check_print_header(&run->print);
    if (shows_progress(&run->options))
        progress_begin(0);
    check_files(run, paths, count);
    progress_end();
    check_print_total(&run->print, run->skipped);
    close_bad_file(run);
}

int command_check(int argc, char **argv) {
    struct run run = {0};
    int status = check_options(argc, argv, &run.options);
    if (status != STATUS_CLEAN)
        return status;
    if (run.options.help) {
        check_usage();
        return STATUS_CLEAN;
    }
    bool many = argc - optind > 1 || folder_is(argv[optind]);
    if (run.options.jit)
        run.status = check_jit_open(run.options.jit, &run.jit);
    if (run.status == STATUS_CLEAN && !open_run(&run, many))
        run.status = command_error("%s", strerror(ENOMEM));
    if (run.status == STATUS_CLEAN)
        check_all(&run, argv + optind, argc - optind);
    close_run(&run);
    return run.status;
}
