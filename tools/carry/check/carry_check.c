/* SPDX-License-Identifier: MIT */
/* Implements carry check: verifies every checksum of captures. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <carry/capture.h>
#include <carry/fault.h>

#include "check/bad_file.h"
#include "check/check_jit.h"
#include "check/check_metrics.h"
#include "check/check_options.h"
#include "check/check_print.h"
#include "check/file_list.h"
#include "check/folder.h"
#include "check/report.h"
#include "check/selection.h"
#include "check/source.h"
#include "check/verdict_set.h"
#include "common/command.h"
#include "common/file_name.h"
#include "common/options.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/signals.h"

/* The state of one run, which checks one or more captures. */
struct run {
    struct check_options options;
    struct selection selection;
    struct carry_capture_checker *checker;
    struct carry_capture_checker *settled; /* reads captures again; NULL: no finding is needed */
    struct check_jit *jit;                 /* NULL: not requested */
    struct bad_file *bad_file;             /* NULL: not requested */
    bool cancels_outputs; /* outputs are not written: one would replace a capture */
    bool cancels_metrics; /* the metrics file is not written: it would replace a capture */
    struct check_print print;
    uint64_t skipped; /* files in folders that are not captures */
    bool no_memory;
    int status; /* the most severe so far */

    /* The current capture: */
    const char *path;
    bool streams;      /* print each line at once, for a reader that waits */
    bool rereads;      /* the capture can be read again */
    bool held;         /* it must be read again: a finding may change, so no more are reported */
    uint64_t reported; /* findings so far, in either reading */
    uint64_t before;   /* findings of the first reading, which the second must still skip */
    struct carry_capture_summary *summary;
    struct carry_capture_summary *again; /* of the second reading */
    uint64_t last_written;               /* number of the last packet in `bad_file` */
    uint64_t bytes_read;                 /* in earlier captures */
};

static void note_status(struct run *run, int status) {
    run->status = status_max(run->status, status);
}

/* --- A capture --- */

static void check_file_error(struct run *run, const char *path, const char *reason) {
    progress_hide();
    note_status(run, command_file_error(path, reason));
}

static void write_bad(struct run *run, const struct carry_capture_packet *packet) {
    if (run->last_written == packet->number)
        return;
    run->last_written = packet->number;
    bad_file_add(run->bad_file, run->path, packet);
}

/* Lists a finding, writes its packet to the file of bad packets, and adds the finding to the page,
   each only if requested. */
static void report_sum(struct run *run, const struct carry_capture_finding *finding) {
    run->reported++;
    if (run->options.bad_only)
        check_print_finding(&run->print, run->path, finding);
    if (run->bad_file && verdict_is_in(finding->sum.verdict, run->options.wrong))
        write_bad(run, finding->packet);
    if (run->print.page)
        page_add_finding(run->print.page, finding);
}

/* Reports the findings of a first reading. If the capture can be read again, stops reporting at the
   first finding that later packets may change. */
static bool take_finding(void *user, const struct carry_capture_finding *finding) {
    struct run *run = user;
    run->held |= finding->early && run->rereads;
    if (!run->held)
        report_sum(run, finding);
    return !command_output_failed();
}

/* Reports the findings of a second reading, after those of the first one. A file that grows may
   hold packets that the summary does not count. */
static bool take_settled_finding(void *user, const struct carry_capture_finding *finding) {
    struct run *run = user;
    const struct carry_capture_totals *totals = carry_capture_totals(run->summary);
    if (finding->number > totals->packets + totals->unselected)
        return false;
    if (run->before)
        run->before--;
    else
        report_sum(run, finding);
    return !command_output_failed();
}

static bool select_checked_packet(void *user, const struct carry_capture_packet *packet) {
    return selection_has(&((struct run *)user)->selection, packet);
}

static bool show_check_progress(void *user, const struct carry_capture_progress *progress) {
    const struct run *run = user;
    if (run->streams)
        fflush(stdout);
    if (progress_due) {
        progress_count(carry_capture_totals(run->print.total)->packets + progress->packets,
                       carry_capture_total(run->print.total, run->options.wrong) + progress->wrong);
        progress_draw(progress->position);
    }
    return !command_output_failed();
}

/* Returns the verdicts that make this capture bad. */
static unsigned wrong_verdicts(const struct run *run) {
    return run->options.zero_ok && carry_capture_is_all_zero(run->summary) ? 0 : run->options.wrong;
}

/* Describes the result of a capture. A cancelled check is not an error here: an output failed,
   which is reported at the end of the run. */
static struct report describe_capture(const struct run *run, struct carry_capture *capture,
                                      int code) {
    struct report report = {
        .path = run->path,
        .summary = run->summary,
        .wrong = wrong_verdicts(run),
        .listed = run->options.listed,
    };
    if (code != CARRY_OK && code != CARRY_ERROR_CANCELLED)
        report.error = source_error(capture);
    return report;
}

/* Reports how many IPv4 header sums of 0 were listed or written as bad before later packets showed
   transmit offload. */
static void note_early(const struct run *run) {
    char number[TEXT_SIZE], text[3 * TEXT_SIZE + 128];
    uint64_t count = carry_capture_totals(run->summary)->early;
    bool were_out = run->options.bad_only || (run->bad_file && !run->options.quiet);
    if (!count || !were_out || run->rereads ||
        verdict_is_in(CARRY_VERDICT_PARTIAL, run->options.wrong))
        return;
    snprintf(text, sizeof text,
             "reported %s IPv4 header sum%s of 0 as bad before later packets of the same sender or "
             "network card showed transmit offload",
             text_count(number, count), text_plural(count));
    command_file_error(run->path, text);
}

/* Cancels the metrics file, which is written at the end, if it would replace this capture. */
static void cancel_metrics(struct run *run, const struct stat *status) {
    struct stat present;
    const char *path = run->options.metrics_file;
    if (path && stat(path, &present) == 0 && output_is_same(&present, status))
        run->cancels_metrics = true;
}

/* Removes from the outputs the permissions that the capture does not have. */
static void restrict_outputs(struct run *run, const struct stat *status) {
    if (run->bad_file && S_ISREG(status->st_mode))
        bad_file_restrict(run->bad_file, status->st_mode);
    if (run->print.page && S_ISREG(status->st_mode))
        page_restrict(run->print.page, status->st_mode);
}

/* Reads a capture again, to report what its summary counts. `first` is the result of the first
   reading, whose error is not reported again. */
static void read_again(struct run *run, struct carry_capture *capture, int first) {
    run->before = run->reported;
    int code = carry_capture_rewind(capture);
    if (code == CARRY_OK)
        code = carry_capture_checker_run(run->settled, capture, run->again);
    progress_hide();
    selection_forget(&run->selection);
    run->no_memory |= code == CARRY_ERROR_MEMORY;
    if (code != CARRY_OK && code != first && code != CARRY_ERROR_CANCELLED)
        check_file_error(run, run->path, carry_capture_last_error(capture)->text);
    else if (code != CARRY_ERROR_CANCELLED && carry_capture_totals(run->again)->packets <
                                                  carry_capture_totals(run->summary)->packets)
        check_file_error(run, run->path, "became shorter while it was read");
}

static void check_capture(struct run *run, const char *path, struct carry_capture *capture,
                          const struct stat *status) {
    run->path = path;
    run->streams = run->options.bad_only && carry_capture_size(capture) == 0;
    run->last_written = 0;
    run->rereads = carry_capture_can_rewind(capture) && !source_waits(capture);
    run->held = false;
    run->reported = 0;
    restrict_outputs(run, status);
    cancel_metrics(run, status);
    progress_begin_file(&(struct progress_file){
        .size = carry_capture_size(capture),
        .before = run->bytes_read,
        .path = run->print.many ? path : NULL,
    });
    if (source_waits(capture))
        carry_capture_stop_on(capture, signals_stop_begin(false));
    else
        source_map(capture, status);
    const int code = carry_capture_checker_run(run->checker, capture, run->summary);
    signals_stop_end();
    progress_hide();
    run->bytes_read += carry_capture_position(capture);
    run->no_memory |= code == CARRY_ERROR_MEMORY;
    if (!run->options.quiet)
        selection_report(&run->selection, path);
    struct report report = describe_capture(run, capture, code);
    if (run->held && code != CARRY_ERROR_CANCELLED && code != CARRY_ERROR_MEMORY)
        read_again(run, capture, code);
    note_status(run, check_print_capture(&run->print, &report));
    note_early(run);
}

static void report_unopened(struct run *run, const char *path, const char *reason) {
    progress_hide();
    note_status(run, check_print_unopened(&run->print, path, reason));
}

/* --- Files and folders --- */

/* Checks that a file is not a capture and does not have the name of a capture. Returns false if an
   error prevented its recognition. */
static bool is_other(struct carry_capture *capture, const char *path) {
    return !source_is_capture(capture) && carry_capture_last_error(capture)->code == CARRY_OK &&
           !file_name_is_capture(path);
}

/* Returns the option whose output would replace this capture, and cancels the outputs; NULL if none
   would. */
static const char *option_overwriting_input(struct run *run, const struct stat *status) {
    const char *option = NULL;
    if (run->bad_file && bad_file_replaces(run->bad_file, status))
        option = "--write-bad";
    else if (run->print.page && page_replaces(run->print.page, status))
        option = "--html";
    run->cancels_outputs |= option != NULL;
    return option;
}

static void report_not_checked(struct run *run, const char *path, const char *option) {
    char text[128];
    snprintf(text, sizeof text, "not checked: %s would replace it; neither file is changed",
             option);
    report_unopened(run, path, text);
}

/* Checks whether an earlier run wrote this file into the folder that is checked. */
static bool is_earlier_output(const struct run *run, const struct stat *status,
                              struct carry_capture *capture, const char *path) {
    return (run->bad_file && bad_file_is_earlier(run->bad_file, status, path)) ||
           (run->print.page && page_replaces(run->print.page, status) && is_other(capture, path));
}

/* Checks a file that was opened. In a folder, this command's own output is not even counted as
   skipped. */
static void check_opened(struct run *run, const char *path, struct carry_capture *capture,
                         const struct stat *status, bool in_folder) {
    const char *option;
    if (output_is_own(status)) {
        if (!in_folder)
            report_unopened(run, path, "is an output of this command");
    } else if (in_folder && is_earlier_output(run, status, capture, path)) {
        return;
    } else if ((option = option_overwriting_input(run, status))) {
        report_not_checked(run, path, option);
    } else if (in_folder && (output_is_unfinished(path) || is_other(capture, path))) {
        run->skipped++;
    } else {
        check_capture(run, path, capture, status);
    }
}

static void check_file(struct run *run, const char *path, bool in_folder) {
    struct stat status;
    struct carry_capture *capture = source_open(path);
    if (capture && source_status(capture, &status))
        check_opened(run, path, capture, &status, in_folder);
    else
        report_unopened(run, path, strerror(errno));
    carry_capture_close(capture);
}

static void check_file_of_folder(void *context, const char *path) {
    if (!command_output_failed())
        check_file(context, path, true);
}

static void report_unread_path(void *context, const char *path, int error) {
    report_unopened(context, path, strerror(error));
}

static void check_folder(struct run *run, const char *path) {
    const struct folder_visitor visitor = {check_file_of_folder, report_unread_path, run};
    uint64_t before = run->print.captures;
    folder_walk(path, &visitor);
    if (run->print.captures == before)
        report_unopened(run, path, "no captures in this folder");
}

static bool check_named(void *context, const char *path) {
    if (folder_is(path))
        check_folder(context, path);
    else
        check_file(context, path, false);
    return !command_output_failed();
}

static void check_listed(struct run *run) {
    const struct file_list_visitor visitor = {check_named, run};
    const char *problem = file_list_visit(run->options.files0, &visitor);
    if (problem)
        check_file_error(run, run->options.files0, problem);
}

static void check_operands(struct run *run, char **paths, int count) {
    if (run->options.files0)
        check_listed(run);
    for (int i = 0; i < count && !command_output_failed(); i++)
        check_named(run, paths[i]);
}

/* --- The command --- */

static bool open_check_run(struct run *run, bool many) {
    const struct check_options *options = &run->options;
    const struct carry_capture_judge judge = check_jit_judge(run->jit);
    const bool looks = options->bad_only || options->write_bad || options->html;
    struct carry_capture_check_options own = {
        .packet = options->packet,
        .threads = (unsigned)options->threads,
        .wrong = options->wrong,
        .listed = options->listed,
        .kept = options->bad_only && !options->html ? 0 : (uint32_t)options->show,
        .packets = options->packets,
        .protocols = options->protocol_count ? options->protocols : NULL,
        .protocol_count = options->protocol_count,
        .judge = run->jit ? &judge : NULL,
        .no_reassembly = !options->reassemble,
        .timeline = options->html,
        .finding = looks ? take_finding : NULL,
        .progress = show_check_progress,
        .user = run,
        .select = selection_is_wanted(&run->selection) ? select_checked_packet : NULL,
    };
    run->summary = carry_capture_summary_create();
    run->again = carry_capture_summary_create();
    if (!check_print_open(&run->print, options, many) || !run->summary || !run->again ||
        carry_capture_checker_create(&own, &run->checker) != CARRY_OK)
        return false;
    own.kept = 0;
    own.timeline = false;
    own.finding = take_settled_finding;
    own.settled = run->summary;
    return !looks || carry_capture_checker_create(&own, &run->settled) == CARRY_OK;
}

static void close_check_run(struct run *run) {
    carry_capture_checker_free(run->checker);
    carry_capture_checker_free(run->settled);
    check_jit_close(run->jit);
    selection_close(&run->selection);
    carry_capture_summary_free(run->summary);
    carry_capture_summary_free(run->again);
    check_print_close(&run->print);
}

/* Opens the output files. Returns false after a message if one of them cannot be written. */
static bool open_outputs(struct run *run) {
    const struct check_options *options = &run->options;
    if (options->write_bad && !(run->bad_file = bad_file_open(options->write_bad))) {
        check_file_error(run, options->write_bad, output_problem(errno));
        return false;
    }
    if (options->html && !(run->print.page = page_open(options->html, run->print.many))) {
        check_file_error(run, options->html, output_problem(errno));
        return false;
    }
    return true;
}

static void close_outputs(struct run *run, bool whole) {
    const struct check_options *options = &run->options;
    const struct report_total total = check_print_sum(&run->print, run->skipped);
    bool keep = whole && !run->no_memory && !run->cancels_outputs && !command_output_failed();
    const char *paths[] = {options->write_bad, options->html};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] && command_output_failed())
            check_file_error(run, paths[i], "is not written: writing to standard output failed");
    if (run->bad_file && !bad_file_close(run->bad_file, keep))
        check_file_error(run, options->write_bad, output_problem(errno));
    if (run->print.page && !page_close(run->print.page, &total, keep))
        check_file_error(run, options->html, output_problem(errno));
}

static void write_check_metrics(struct run *run) {
    const char *path = run->options.metrics_file;
    if (path && command_output_failed())
        check_file_error(run, path, "is not written: writing to standard output failed");
    else if (path && run->cancels_metrics)
        check_file_error(run, path, "is a capture that was checked: not replaced");
    else if (path && !check_metrics_write(path, &run->print))
        check_file_error(run, path, output_problem(errno));
}

/* Checks whether to show progress. Checksums listed on the terminal would mix with it. */
static bool check_shows_progress(const struct check_options *options) {
    bool lists_here = options->bad_only && isatty(STDOUT_FILENO);
    return options->quiet || (!lists_here && !progress_is_piped());
}

static void check_all(struct run *run, char **paths, int count) {
    check_print_header(&run->print);
    const bool survives = carry_fault_acquire() == CARRY_OK;
    if (check_shows_progress(&run->options))
        progress_begin(0);
    check_operands(run, paths, count);
    progress_end();
    if (survives)
        carry_fault_release();
    check_print_total(&run->print, run->skipped);
    fflush(stdout); /* if this fails, no other output is published */
    write_check_metrics(run);
}

int command_check(int argc, char **argv) {
    struct run run = {0};
    if (!check_options(argc, argv, &run.options, &run.status))
        return run.status;
    const int count = options_count_operands(argv);
    bool many = run.options.files0 || count > 1 || folder_is(argv[optind]);
    run.status = selection_open(&run.selection, argv[0], &run.options.selection);
    if (run.status == STATUS_CLEAN && run.options.jit)
        run.status = check_jit_open(run.options.jit, &run.jit);
    if (run.status == STATUS_CLEAN && !open_check_run(&run, many))
        run.status = command_error("%s", strerror(ENOMEM));
    if (run.status == STATUS_CLEAN) {
        const bool open = open_outputs(&run);
        if (open)
            check_all(&run, argv + optind, count);
        close_outputs(&run, open);
    }
    close_check_run(&run);
    return run.status;
}
