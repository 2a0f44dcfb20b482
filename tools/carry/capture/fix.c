/* SPDX-License-Identifier: MIT */
/* carry fix: a copy of a capture with its checksums repaired, and every other byte as it was. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <carry/packet.h>

#include "capture/capture.h"
#include "capture/fix_report.h"
#include "capture/repair.h"
#include "capture/tally.h"
#include "common/command.h"
#include "common/file_name.h"
#include "common/options.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/signals.h"

static const char usage[] =
    "Usage: carry fix [OPTION]... FILE -o OUTPUT\n"
    "\n"
    "Writes a copy of a pcap or pcapng capture in which checksums that were bad,\n"
    "partial or illegal are right. Nothing but checksums changes: times, blocks,\n"
    "options, damage and what follows it are copied byte for byte. Checksums over\n"
    "fragmented datagrams are repaired where all fragments are there. A checksum is\n"
    "left where it covers bytes that are not in the capture, or where it stands under\n"
    "one that cannot be verified; the summary says why, and in which frames. The\n"
    "output appears whole or not at all, and is never the input. FILE may be a pipe,\n"
    "or - for standard input. The first Ctrl-C on a pipe ends the input, and the copy\n"
    "is kept. Where no capture is recognised, nothing is copied.\n"
    "\n"
    "  -o, --output=FILE    where the copy goes\n"
    "      --only=VERDICTS  repair only sums that are bad, partial or illegal: names,\n"
    "                       separated by commas; only if bad is named, this repairs\n"
    "                       SCTP sums that verify as Adler-32. An IPv4 header of\n"
    "                       0 is bad or partial by its sender's other packets: a\n"
    "                       file is read twice, a pipe only once\n"
    "      --dry-run        write no copy; say what would be repaired\n"
    "  -l, --log=FILE       a line of JSON for each checksum that changes, or is left\n"
    "                       wrong; - prints them in place of the summary\n"
    "  -J, --json           print the summary as JSON\n"
    "  -q, --quiet          print nothing; the exit status tells\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status, which is that of carry check for the copy:\n"
    "  0  clean             1  a checksum is still bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "\n"
    "Examples:\n"
    "  carry fix offloaded.pcap -o fixed.pcap --only partial\n"
    "  carry fix broken.pcapng -o fixed.pcapng --log changes.ndjson\n"
    "  carry fix capture.pcap.gz --dry-run\n";

/* What a compressed capture may unpack to: so many bytes, and so many for each that it holds. */
#define UNPACKED_FREE   ((uint64_t)64 << 20)
#define UNPACKED_FACTOR 200u

struct options {
    const char *input;
    const char *output;
    const char *log;
    bool dry_run;
    bool json;
    bool quiet;
    struct carry_packet_options packet;
};

struct run {
    struct options options;
    struct capture *capture;
    struct output output; /* the copy */
    uint64_t written;     /* bytes of it, or of what was read for it */
    bool is_bomb;         /* too many, for what the input holds */
    uint64_t learned;     /* bytes of the input that were read before it is copied */
    struct output log;
    FILE *log_stream; /* NULL: none is wanted */
    struct repair repair;
    struct fix_report report;
};

/* --- Options --- */

static uint32_t verdict_bit(const char *name, size_t size) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        const char *known = carry_packet_verdict_name(verdict);
        if (tally_names(verdict) && strlen(known) == size && memcmp(known, name, size) == 0)
            return 1u << verdict;
    }
    return 0;
}

static int set_only(struct options *options, const char *names) {
    options->packet.fix = 0;
    for (const char *at = names;; at++) {
        size_t size = strcspn(at, ",");
        uint32_t bit = verdict_bit(at, size);
        if (!bit)
            return command_usage("fix", "--only takes bad, partial and illegal, not '%.*s'",
                                 (int)size, at);
        options->packet.fix |= bit;
        at += size;
        if (!*at)
            return STATUS_CLEAN;
    }
}

static int check_options(const struct options *options, int files) {
    if (files == 0)
        return command_usage("fix", "no file given");
    if (files > 1)
        return command_usage("fix", "one file at a time, not %d", files);
    if (!options->output && !options->dry_run)
        return command_usage("fix", "no --output given: the capture is never changed in place");
    if (options->output && options->dry_run)
        return command_usage("fix", "--dry-run writes no --output");
    if (options->output && strcmp(options->output, "-") == 0)
        return command_usage("fix", "--output must be a file: it appears whole or not at all");
    if (options->output && file_name_is_packed(options->output))
        return command_usage("fix", "--output is never compressed: '%s' says that it is",
                             options->output);
    if (options->log && file_name_is_packed(options->log))
        return command_usage("fix", "--log is never compressed: '%s' says that it is",
                             options->log);
    return STATUS_CLEAN;
}

/* As options_read(). */
static bool read_options(int argc, char **argv, struct options *options, int *status) {
    const char *only = NULL;
    const struct option_row rows[] = {
        {"output", 'o', .text = &options->output},
        {"only", .text = &only},
        {"dry-run", .flag = &options->dry_run},
        {"log", 'l', .text = &options->log},
        {"json", 'J', .flag = &options->json},
        {"quiet", 'q', .flag = &options->quiet},
        {0},
    };
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, status))
        return false;
    options->input = argv[optind];
    *status = only ? set_only(options, only) : STATUS_CLEAN;
    if (*status == STATUS_CLEAN)
        *status = check_options(options, argc - optind);
    return *status == STATUS_CLEAN;
}

/* --- Files --- */

/* Opens what is to appear under `path`, unless that is the input, by whatever name or link. */
static int open_output(const struct run *run, struct output *output, const char *path) {
    struct stat input, present;
    if (!capture_status(run->capture, &input))
        return command_file_error(run->options.input, strerror(errno));
    if (stat(path, &present) == 0 && output_is_same(&input, &present))
        return command_file_error(path, "is the input, which is never written to");
    mode_t mode = S_ISREG(input.st_mode) ? input.st_mode & 0666 : 0666;
    if (!output_open(output, path, mode))
        return command_file_error(path, output_problem(errno));
    return STATUS_CLEAN;
}

static bool logs_to_output(const struct run *run) {
    return run->options.log && strcmp(run->options.log, "-") == 0;
}

static int open_log(struct run *run) {
    const char *path = run->options.log;
    if (!path)
        return STATUS_CLEAN;
    if (logs_to_output(run)) {
        run->log_stream = stdout;
        return STATUS_CLEAN;
    }
    int status = open_output(run, &run->log, path);
    if (status != STATUS_CLEAN)
        return status;
    run->log_stream = output_stream(&run->log);
    return run->log_stream ? STATUS_CLEAN : command_file_error(path, strerror(errno));
}

/* Does more come out of a compressed capture than any capture holds? */
static bool is_bomb(const struct run *run) {
    const uint64_t most = UNPACKED_FREE + UNPACKED_FACTOR * capture_position(run->capture);
    return capture_is_packed(run->capture) && run->written > most;
}

static bool take_bytes(void *context, const void *bytes, size_t size) {
    struct run *run = context;
    output_write(&run->output, bytes, size);
    run->written += size;
    run->is_bomb = is_bomb(run);
    return !run->is_bomb && !run->output.error;
}

static int open_files(struct run *run) {
    struct stat input;
    if (capture_status(run->capture, &input) && output_is_own(&input))
        return command_file_error(run->options.input, output_problem(ETXTBSY));
    int status = STATUS_CLEAN;
    if (run->options.output)
        status = open_output(run, &run->output, run->options.output);
    return status == STATUS_CLEAN ? open_log(run) : status;
}

/* All of the log is written; false, with the log's error set, if not. */
static bool finish_log(struct run *run) {
    if (logs_to_output(run))
        return fflush(stdout) == 0 && !command_output_failed();
    return !run->log.path || output_finish(&run->log);
}

/* Whoever started this learns of standard output's failure in the end, and here of its effect. */
static int give_up_output(const struct run *run) {
    if (run->options.output)
        command_file_error(run->options.output, "is not written, as the log could not be");
    return STATUS_ERROR;
}

/* Both files appear, or a message tells why not, and none does. */
static int publish(struct run *run) {
    const struct options *options = &run->options;
    if (!finish_log(run))
        return logs_to_output(run)
                   ? give_up_output(run)
                   : command_file_error(options->log, output_problem(run->log.error));
    if (options->output && !(output_finish(&run->output) && output_publish(&run->output)))
        return command_file_error(options->output, output_problem(run->output.error));
    if (run->log.path && !output_publish(&run->log))
        return command_file_error(options->log, output_problem(run->log.error));
    return STATUS_CLEAN;
}

static void close_files(struct run *run) {
    output_abandon(&run->log);
    output_abandon(&run->output);
}

/* --- The work --- */

static bool writing_failed(const struct run *run) {
    return run->is_bomb || run->output.error || run->log.error || command_output_failed();
}

static int open_repair(struct run *run) {
    run->repair = (struct repair){
        .output = run->options.output ? &run->output : NULL,
        .options = run->options.packet,
        .report = &run->report,
    };
    return repair_open(&run->repair) ? STATUS_CLEAN : command_error("%s", strerror(errno));
}

static int refuse_bomb(const struct run *run) {
    return command_file_error(run->options.input, "unpacks to far more than captures do: unpack it "
                                                  "first, and fix what comes out");
}

/* All of a file tells of its senders, where that makes a difference. */
static bool reads_twice(const struct run *run) {
    return repair_tells_apart(&run->repair) && !capture_waits(run->capture);
}

/* The first time. */
static int learn(struct run *run) {
    struct packet packet;
    if (!reads_twice(run))
        return STATUS_CLEAN;
    while (!run->is_bomb && capture_next(run->capture, &packet) == CAPTURE_PACKET) {
        run->written = input_offset(capture_input(run->capture));
        run->is_bomb = is_bomb(run);
        repair_learn(&run->repair, &packet);
        if (progress_due)
            progress_draw(capture_position(run->capture));
    }
    if (run->is_bomb)
        return refuse_bomb(run);
    repair_learned(&run->repair);
    run->written = 0;
    run->learned = capture_size(run->capture);
    run->capture = capture_again(run->capture);
    return run->capture ? STATUS_CLEAN : command_file_error(run->options.input, strerror(errno));
}

static enum capture_result repair_all(struct run *run) {
    struct packet packet;
    enum capture_result result;
    while ((result = capture_next(run->capture, &packet)) == CAPTURE_PACKET) {
        repair_packet(&run->repair, &packet);
        if (writing_failed(run))
            return CAPTURE_END;
        if (progress_due)
            progress_draw(run->learned + capture_position(run->capture));
    }
    if (result != CAPTURE_FAILED && !capture_pass_rest(run->capture))
        return CAPTURE_FAILED;
    return result;
}

/* Of a file in which nothing is recognised there is no copy. */
static int refuse(struct run *run) {
    struct packet packet;
    const enum capture_result result = capture_next(run->capture, &packet);
    const char *reason = capture_problem(run->capture)->reason;
    command_file_error(run->options.input, *reason ? reason : "no capture");
    return result == CAPTURE_FAILED ? STATUS_ERROR : STATUS_DAMAGED;
}

static int copy(struct run *run) {
    if (run->options.output)
        capture_pass_to(run->capture, take_bytes, run);
    if (!capture_recognised(run->capture))
        return refuse(run);
    run->repair.capture = run->capture;
    run->repair.log = run->log_stream;
    run->report.end = repair_all(run);
    run->report.problem = capture_problem(run->capture);
    if (!repair_end(&run->repair))
        return command_file_error(run->options.input, strerror(ENOMEM));
    if (run->is_bomb)
        return refuse_bomb(run);
    if (run->report.end == CAPTURE_FAILED)
        return command_file_error(run->options.input, run->report.problem->reason);
    return STATUS_CLEAN;
}

static int status_of(const struct fix_report *report) {
    if (report->end == CAPTURE_DAMAGED)
        return STATUS_DAMAGED;
    return fix_left(report) ? STATUS_BAD : STATUS_CLEAN;
}

static void print_report(const struct run *run) {
    if (run->options.quiet || logs_to_output(run))
        return;
    if (run->options.json)
        fix_report_json(&run->report);
    else
        fix_report_text(&run->report);
}

/* Changes that are listed meanwhile would stand among what is drawn. */
static bool shows_progress(const struct run *run) {
    bool lists_here = logs_to_output(run) && isatty(STDOUT_FILENO);
    return run->options.quiet || (!lists_here && !progress_is_piped());
}

static int fix_capture(struct run *run) {
    int status = open_repair(run);
    if (status == STATUS_CLEAN && shows_progress(run))
        progress_begin(capture_size(run->capture) << reads_twice(run));
    if (capture_waits(run->capture))
        capture_stop_on(run->capture, signals_stop_begin());
    if (status == STATUS_CLEAN)
        status = open_files(run);
    if (status == STATUS_CLEAN)
        status = learn(run);
    if (status == STATUS_CLEAN)
        status = copy(run);
    if (status == STATUS_CLEAN)
        status = publish(run);
    repair_close(&run->repair);
    close_files(run);
    signals_stop_end();
    progress_end();
    if (status != STATUS_CLEAN)
        return status;
    print_report(run);
    return status_of(&run->report);
}

int command_fix(int argc, char **argv) {
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return command_error("%s", strerror(ENOMEM));
    int status;
    if (read_options(argc, argv, &run->options, &status)) {
        run->report.input = run->options.input;
        run->report.output = run->options.output;
        run->capture = capture_open(run->options.input);
        status = run->capture ? fix_capture(run)
                              : command_file_error(run->options.input, strerror(errno));
        if (run->capture)
            capture_close(run->capture);
    }
    free(run);
    return status;
}
