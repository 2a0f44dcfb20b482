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

#include "bad_file.h"
#include "capture.h"
#include "check_jit.h"
#include "check_options.h"
#include "command.h"
#include "folder.h"
#include "output.h"
#include "pipeline.h"
#include "progress.h"
#include "reassemble.h"
#include "report.h"
#include "tally.h"
#include "text.h"

/* All captures of one call. */
struct run {
    struct check_options options;
    bool many; /* there may be more than one capture */
    struct pipeline *pipeline;
    struct check_jit *jit;     /* NULL: not wanted */
    struct bad_file *bad_file; /* NULL: not wanted */
    bool spares_input;         /* the bad file is given up: it would replace a capture */
    struct tally *total;
    uint64_t captures, damaged, failed, skipped;
    int status; /* the gravest so far */

    /* Of the present capture. */
    const char *path;
    bool streams; /* who watches the output is to see each line at once */
    bool no_memory;
    struct tally *tally;
    struct reassembler *reassembler; /* NULL: not wanted */
    struct finding *findings;        /* room for options.show */
    size_t findings_count;
    uint64_t last_written; /* number of the packet */
};

static void note_status(struct run *run, int status) {
    run->status = status > run->status ? status : run->status;
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

static void list(const struct run *run, const struct finding *finding) {
    switch (run->options.format) {
    case CHECK_TEXT:
        report_finding_text(run->many ? run->path : NULL, finding);
        break;
    case CHECK_JSON:
        report_finding_json(run->path, finding);
        break;
    case CHECK_TSV:
        report_finding_tsv(run->path, finding);
        break;
    }
}

/*
 * Lists a sum at once, or keeps it for the summary while there is room. Of the packet, `located`
 * bytes stand in the file as they do here.
 */
static void add_finding(struct run *run, const struct packet *packet, uint32_t located,
                        const struct carry_packet_sum *sum) {
    struct finding finding;
    struct carry_frame frame = tally_frame(packet);
    if (!run->options.bad_only && run->findings_count == run->options.show)
        return;
    tally_describe(&finding, packet, &frame, sum);
    if ((uint64_t)sum->field_offset + sum->field_size > located)
        finding.offset = FINDING_NOWHERE;
    if (run->options.bad_only)
        list(run, &finding);
    else
        run->findings[run->findings_count++] = finding;
}

static void write_bad(struct run *run, const struct packet *packet) {
    if (!run->bad_file || run->last_written == packet->number)
        return;
    run->last_written = packet->number;
    bad_file_add(run->bad_file, run->path, packet);
}

static void finish_sum(struct run *run, const struct packet *packet,
                       const struct carry_packet_sum *sum) {
    struct carry_frame frame = tally_frame(packet);
    tally_add_sender(run->tally, &frame, sum);
    if (tally_is_in(sum->verdict, run->options.listed))
        add_finding(run, packet, packet->captured, sum);
    if (tally_is_in(sum->verdict, run->options.wrong))
        write_bad(run, packet);
}

/* A sum of the datagram that a packet completed. */
static void finish_sum_of(struct run *run, const struct datagram *datagram,
                          const struct packet *packet, const struct carry_packet_sum *sum) {
    struct carry_frame last = tally_frame(packet), whole = tally_frame(&datagram->packet);
    if (tally_add_sum(run->tally, &last, sum) || !tally_names(sum->verdict))
        return;
    tally_add_sender(run->tally, &whole, sum);
    if (tally_is_in(sum->verdict, run->options.listed))
        add_finding(run, &datagram->packet, datagram->located, sum);
    if (tally_is_in(sum->verdict, run->options.wrong))
        write_bad(run, packet);
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
        finish_sum(run, packet, &note->sum);
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
    note_status(run, command_file_error(path, reason));
}

/* What the summary would have said of a capture that ended early, where there is none. */
static void print_problem(struct run *run, const struct report *report) {
    char offset[TEXT_SIZE], text[sizeof report->problem->reason + TEXT_SIZE + 32];
    bool summary_tells = !run->options.bad_only && run->options.format != CHECK_TSV;
    if (report->end == CAPTURE_FAILED) {
        file_error(run, report->path, report->problem->reason);
    } else if (report->end == CAPTURE_DAMAGED && !summary_tells && !run->options.quiet) {
        snprintf(text, sizeof text, "damaged at offset %s: %s",
                 text_count(offset, report->problem->offset), report->problem->reason);
        command_file_error(report->path, text);
    }
}

static void print_report(struct run *run, const struct report *report) {
    print_problem(run, report);
    if (run->options.quiet || run->options.bad_only)
        return;
    switch (run->options.format) {
    case CHECK_TEXT:
        if (run->captures > 1)
            putchar('\n');
        report_text(report);
        break;
    case CHECK_JSON:
        report_json(report);
        break;
    case CHECK_TSV:
        report_tsv(report);
        break;
    }
}

static void count_capture(struct run *run, const struct tally *tally, enum capture_result end) {
    run->captures++;
    run->damaged += end == CAPTURE_DAMAGED;
    run->failed += end == CAPTURE_FAILED;
    tally_merge(run->total, tally);
    if (tally_total_of(tally, run->options.wrong))
        note_status(run, STATUS_BAD);
    if (end == CAPTURE_DAMAGED)
        note_status(run, STATUS_DAMAGED);
}

static enum capture_result run_capture(struct run *run, struct capture *capture) {
    bool mixes_with_output = run->options.bad_only && isatty(STDOUT_FILENO);
    if (!mixes_with_output)
        progress_begin(capture_size(capture));
    enum capture_result end = pipeline_run(run->pipeline, capture, run->options.packets);
    progress_end();
    pipeline_take_tally(run->pipeline, run->tally);
    return end;
}

static void report_capture(struct run *run, const struct capture *capture,
                           enum capture_result end) {
    const struct reassembler *reassembler = run->reassembler;
    print_report(run, &(struct report){
                          .path = run->path,
                          .tally = run->tally,
                          .wrong = run->options.wrong,
                          .listed = run->options.listed,
                          .findings = run->findings,
                          .findings_count = run->findings_count,
                          .reassembly = reassembler ? reassembler_counts(reassembler) : NULL,
                          .end = end,
                          .problem = capture_problem(capture),
                      });
}

static bool open_capture(struct run *run) {
    const struct check_options *options = &run->options;
    run->tally = tally_new();
    run->reassembler = options->reassemble ? reassembler_create(&options->packet) : NULL;
    return run->tally && (run->reassembler || !options->reassemble);
}

static void close_capture(struct run *run) {
    reassembler_free(run->reassembler);
    tally_free(run->tally);
}

static void check_open_capture(struct run *run, const char *path, struct capture *capture) {
    run->path = path;
    run->streams = run->options.bad_only && capture_size(capture) == 0;
    run->findings_count = 0;
    run->last_written = 0;
    enum capture_result end = run_capture(run, capture);
    if (run->reassembler)
        reassembler_end(run->reassembler);
    count_capture(run, run->tally, end);
    report_capture(run, capture, end);
    if (run->no_memory)
        file_error(run, path, strerror(ENOMEM));
}

static void check_capture(struct run *run, const char *path, struct capture *capture) {
    if (open_capture(run))
        check_open_capture(run, path, capture);
    else
        file_error(run, path, strerror(errno));
    close_capture(run);
}

/* A file that cannot be opened: a message, and with --json an object like any other file's. */
static void report_unopened(struct run *run, const char *path, const char *reason) {
    const struct tally nothing = {0};
    struct capture_problem problem = {0};
    snprintf(problem.reason, sizeof problem.reason, "%s", reason);
    const struct report report = {
        .path = path, .tally = &nothing, .end = CAPTURE_FAILED, .problem = &problem};
    if (run->options.format == CHECK_JSON)
        print_report(run, &report);
    else
        print_problem(run, &report);
    count_capture(run, &nothing, CAPTURE_FAILED);
}

/* --- Files and folders --- */

/* Not a capture, and nothing that went wrong on the way to see that. */
static bool is_other(struct capture *capture) {
    return !capture_recognised(capture) && !capture_input(capture)->error;
}

/* Gives the file of bad packets up if it would replace this capture. */
static bool spares(struct run *run, const struct capture *capture) {
    struct stat status;
    bool replaces = run->bad_file && capture_status(capture, &status) &&
                    bad_file_replaces(run->bad_file, &status);
    run->spares_input |= replaces;
    return replaces;
}

static void check_file(struct run *run, const char *path, bool in_folder) {
    struct capture *capture = capture_open(path);
    if (!capture)
        report_unopened(run, path, strerror(errno));
    else if (spares(run, capture))
        report_unopened(run, path, "is what --write-bad is to replace, so it stays");
    else if (in_folder && is_other(capture))
        run->skipped++;
    else
        check_capture(run, path, capture);
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
    uint64_t before = run->captures;
    folder_walk(path, &visitor);
    if (run->captures == before)
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

static void print_header(const struct check_options *options) {
    if (options->format != CHECK_TSV || options->quiet)
        return;
    if (options->bad_only)
        report_finding_tsv_header();
    else
        report_tsv_header();
}

/* What one capture, or a message that there is none, says already is not said again. */
static bool has_total(const struct run *run) {
    return run->many && (run->captures > 1 || run->captures > run->failed) &&
           run->options.format == CHECK_TEXT && !run->options.quiet && !run->options.bad_only;
}

static void print_total(const struct run *run) {
    if (has_total(run))
        report_total(&(struct report_total){
            .tally = run->total,
            .wrong = run->options.wrong,
            .captures = run->captures,
            .damaged = run->damaged,
            .failed = run->failed,
            .skipped = run->skipped,
        });
}

static bool open_run(struct run *run) {
    const struct pipeline_work work = {look, finish, run};
    run->total = tally_new();
    run->findings = calloc(run->options.show + 1, sizeof *run->findings);
    run->pipeline = pipeline_open(run->options.threads, &work);
    return run->total && run->findings && run->pipeline;
}

static void close_run(struct run *run) {
    if (run->pipeline)
        pipeline_close(run->pipeline);
    check_jit_close(run->jit);
    free(run->findings);
    tally_free(run->total);
}

static void close_bad_file(struct run *run) {
    bool keep = !run->no_memory && !run->spares_input && !command_output_failed();
    if (run->bad_file && !bad_file_close(run->bad_file, keep))
        file_error(run, run->options.write_bad, output_problem(errno));
}

static void check_all(struct run *run, char **paths, int count) {
    if (run->options.write_bad) {
        run->bad_file = bad_file_open(run->options.write_bad);
        if (!run->bad_file) {
            file_error(run, run->options.write_bad, output_problem(errno));
            return;
        }
    }
    print_header(&run->options);
    check_files(run, paths, count);
    print_total(run);
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
    run.many = argc - optind > 1 || folder_is(argv[optind]);
    if (run.options.jit)
        run.status = check_jit_open(run.options.jit, &run.jit);
    if (run.status == STATUS_CLEAN && !open_run(&run))
        run.status = command_error("%s", strerror(ENOMEM));
    if (run.status == STATUS_CLEAN)
        check_all(&run, argv + optind, argc - optind);
    close_run(&run);
    return run.status;
}
