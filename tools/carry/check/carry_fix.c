/* SPDX-License-Identifier: MIT */
/* Implements carry fix: copies a capture with its checksums repaired and all other bytes
   unchanged. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <carry/capture.h>

#include "check/fix_folder.h"
#include "check/fix_report.h"
#include "check/folder.h"
#include "check/selection.h"
#include "check/source.h"
#include "check/verdict_set.h"
#include "common/command.h"
#include "common/options.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/signals.h"

static const char usage[] =
    "Usage: carry fix [OPTION]... FILE -o OUTPUT [-- FILTER]\n"
    "       carry fix [OPTION]... FOLDER -o FOLDER [-- FILTER]\n"
    "\n"
    "Copies a capture of any format that is read, and repairs its bad, partial and\n"
    "illegal checksums in the copy. All other bytes are copied unchanged: times,\n"
    "blocks, options, and all that follows damage; only the flag of a packet that\n"
    "says that a checksum was left is cleared with it. The checksum of a fragmented\n"
    "datagram is repaired if the capture holds all fragments. A checksum is left if\n"
    "it covers bytes that the capture does not hold, or if a checksum that covers it\n"
    "cannot be verified; the summary gives the reason and the frames.\n"
    "\n"
    "FILE may be a pipe, or - for standard input; it must be a capture. The first\n"
    "Ctrl-C ends input from a pipe; what was read is copied. OUTPUT is written as a\n"
    "whole or not at all, and must not be FILE.\n"
    "\n"
    "All captures below a folder are repaired into another folder, under the same\n"
    "names.\n"
    "\n"
    "OUTPUT may be -, a pipe or a device too. Then each packet leaves as soon as it\n"
    "has come, so a datagram is repaired only if no fragment of it has left before\n"
    "the last one comes. With -o - the summary goes to standard error.\n"
    "\n"
    "  -o, --output=OUTPUT  write the copy to OUTPUT; - is standard output. It is\n"
    "                       compressed if OUTPUT ends with .gz or .zst\n"
    "      --only=VERDICTS  repair only checksums of these verdicts: bad, partial or\n"
    "                       illegal, separated by commas. SCTP checksums that verify\n"
    "                       as Adler-32 are repaired only if bad is named. Packets of\n"
    "                       the same sender show whether an IPv4 header checksum of 0\n"
    "                       is partial; so a file is read twice, a pipe once\n"
    "  -f, --filter=FILTER  repair only packets that FILTER selects, an expression of\n"
    "                       tcpdump; behind FILE and --, it may be several words.\n"
    "                       Packets that are not selected are copied unchanged\n"
    "  -A, --after=TIME     repair only packets from TIME on, as carry check takes it\n"
    "  -B, --before=TIME    repair only packets earlier than TIME\n"
    "      --frames=RANGES  repair only packets of these numbers: 10-20,30,40-\n"
    "  -c, --count=COUNT    repair only the first COUNT of these packets\n"
    "      --dry-run        write no copy, only report what would be repaired\n"
    "  -l, --log=FILE       write a JSON object to FILE for each checksum that is\n"
    "                       repaired or left wrong; - prints them, not the summary\n"
    "  -J, --json           print the summary as a JSON object\n"
    "  -q, --quiet          print nothing; only set the exit status\n"
    "      --color[=WHEN]   use colours: auto (default), always or never; without\n"
    "                       WHEN, always\n"
    "  -h, --help           print this help\n"
    "\n"
    "Exit status, the same as that of carry check for the copy:\n"
    "  0  clean             1  a checksum is still bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "\n"
    "Examples:\n"
    "  carry fix offloaded.pcap -o fixed.pcap --only partial\n"
    "  carry fix broken.pcapng -o fixed.pcapng --log changes.ndjson\n"
    "  carry fix broken.pcapng -o fixed.pcapng -- host 10.0.0.5\n"
    "  carry fix capture.pcap.gz --dry-run\n"
    "  carry fix captures/ -o repaired/\n"
    "  tcpdump -U -w - | carry fix - -o - --only partial | zeek -r -\n";

struct options {
    const char *input;
    const char *output;
    const char *log;
    bool dry_run;
    bool json;
    bool quiet;
    uint64_t packets; /* the most packets to repair; 0: all */
    struct carry_packet_options packet;
    struct selection_options selection;
};

struct run {
    struct options options;
    struct selection selection;
    uint64_t selected; /* packets selected so far */
    struct carry_capture *capture;
    struct output output; /* where the copy is written */
    bool is_direct;       /* the copy is written directly to its destination */
    bool is_one_of_many;
    bool takes_stops;
    struct output log;
    FILE *log_stream; /* NULL: no log */
    struct carry_capture_repairs *repairs;
};

/* --- Options --- */

static uint32_t verdict_bit(const char *name, size_t size) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        const char *known = carry_packet_verdict_name(verdict);
        if (verdict_is_in(verdict, CARRY_CAPTURE_FINDING_VERDICTS) && strlen(known) == size &&
            memcmp(known, name, size) == 0)
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
            return command_usage("fix", "--only takes bad, partial or illegal, not '%.*s'",
                                 (int)size, at);
        options->packet.fix |= bit;
        at += size;
        if (!*at)
            return STATUS_CLEAN;
    }
}

static int check_fix_options(const struct options *options, int files) {
    if (files == 0)
        return command_usage("fix", "no file given");
    if (files > 1)
        return command_usage("fix", "one file is needed, not %d", files);
    if (!options->output && !options->dry_run)
        return command_usage("fix", "no --output given: captures are never changed in place");
    if (options->output && options->dry_run)
        return command_usage("fix", "--dry-run and --output exclude each other");
    if (options->output && output_is_stdout(options->output) && options->log &&
        output_is_stdout(options->log))
        return command_usage("fix", "--output and --log cannot both be standard output");
    int status = output_check_name("fix", "output", options->output);
    return status == STATUS_CLEAN ? output_check_name("fix", "log", options->log) : status;
}

/* Reads the options like options_read(). */
static bool read_fix_options(int argc, char **argv, struct options *options, int *status) {
    const char *only = NULL;
    const struct option_row rows[] = {
        {"output", 'o', .text = &options->output},
        {"only", .text = &only},
        SELECTION_ROWS(&options->selection),
        {"count", 'c', .number = &options->packets, OPTION_RANGE(1, UINT64_MAX)},
        {"dry-run", .flag = &options->dry_run},
        {"log", 'l', .text = &options->log},
        {"json", 'J', .flag = &options->json},
        {"quiet", 'q', .flag = &options->quiet},
        OPTION_COLOR,
        {0},
    };
    if (!options_read(argc, argv, usage, rows, OPERANDS_WORDS, status))
        return false;
    options->input = argv[optind];
    *status = only ? set_only(options, only) : STATUS_CLEAN;
    if (*status == STATUS_CLEAN)
        *status = check_fix_options(options, options_count_operands(argv));
    return *status == STATUS_CLEAN;
}

/* --- Files --- */

static const char input_is_output[] = "is the input, which must not change";

/* Opens an output that will be published as `path`, unless that is the input by any name or
   link. */
static int open_checked_output(const struct run *run, struct output *output, const char *path) {
    struct stat input, present;
    if (!source_status(run->capture, &input))
        return command_file_error(run->options.input, strerror(errno));
    if (stat(path, &present) == 0 && output_is_same(&input, &present))
        return command_file_error(path, input_is_output);
    mode_t mode = S_ISREG(input.st_mode) ? input.st_mode & 0666 : 0666;
    if (!output_open(output, path, mode))
        return command_file_error(path, output_problem(errno));
    return STATUS_CLEAN;
}

/* Checks whether the output would be written to the input. A socket may be both, since it has two
   directions. */
static bool writes_to_input(const struct run *run) {
    struct stat input, output;
    return source_status(run->capture, &input) && fstat(run->output.descriptor, &output) == 0 &&
           output_is_same(&input, &output) && (S_ISREG(input.st_mode) || S_ISFIFO(input.st_mode));
}

static int open_direct_copy(struct run *run) {
    const char *path = run->options.output;
    run->is_direct = true;
    if (!output_open_direct(&run->output, path))
        return command_file_error(output_name(path), output_problem(errno));
    if (writes_to_input(run))
        return command_file_error(output_name(path), input_is_output);
    return STATUS_CLEAN;
}

static int open_copy(struct run *run) {
    const char *path = run->options.output;
    if (!path)
        return STATUS_CLEAN;
    return output_is_direct(path) ? open_direct_copy(run)
                                  : open_checked_output(run, &run->output, path);
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
    int status = open_checked_output(run, &run->log, path);
    if (status != STATUS_CLEAN)
        return status;
    run->log_stream = output_stream(&run->log);
    return run->log_stream ? STATUS_CLEAN : command_file_error(path, strerror(errno));
}

/* Makes the first signal from now on end only the input, not the command. */
static void take_stops(struct run *run) {
    if (!run->takes_stops)
        carry_capture_stop_on(run->capture, signals_stop_begin(false));
    run->takes_stops = true;
}

/* Writes bytes of the copy. From the first write to a stream on, a signal only ends the input:
   ending the command would cut the stream. */
static int write_copy_bytes(void *user, const void *bytes, size_t size) {
    struct run *run = user;
    if (run->is_direct)
        take_stops(run);
    output_write(&run->output, bytes, size);
    return -run->output.error;
}

static int rewrite_bytes(void *user, uint64_t offset, const void *bytes, size_t size) {
    struct run *run = user;
    output_rewrite(&run->output, offset, bytes, size);
    return -run->output.error;
}

static int open_fix_files(struct run *run) {
    struct stat input;
    if (source_status(run->capture, &input) && output_is_own(&input))
        return command_file_error(run->options.input, output_problem(ETXTBSY));
    int status = open_copy(run);
    return status == STATUS_CLEAN ? open_log(run) : status;
}

/* Completes the log. Returns false if a write failed; the log's error is then set, unless the log
 * goes to standard output. */
static bool finish_log(struct run *run) {
    if (logs_to_output(run))
        return fflush(stdout) == 0 && !command_output_failed();
    return !run->log.path || output_finish(&run->log);
}

/* Reports the effect of a failure of standard output; the failure itself is reported at exit. */
static int give_up_output(const struct run *run) {
    if (run->options.output)
        command_file_error(run->options.output, "is not written: writing the log failed");
    return STATUS_ERROR;
}

/* Reports a failed output. A stream whose reader has closed it needs no message. */
static int fail_output(const struct run *run) {
    if (run->is_direct && run->output.error == EPIPE)
        return STATUS_ERROR;
    return command_file_error(output_name(run->options.output), output_problem(run->output.error));
}

/* Publishes the copy, then the log, or reports why not. After a failure neither appears, except
 * that a published copy remains if the log cannot be published. */
static int publish_files(struct run *run) {
    const struct options *options = &run->options;
    if (!finish_log(run))
        return logs_to_output(run)
                   ? give_up_output(run)
                   : command_file_error(options->log, output_problem(run->log.error));
    if (options->output && !(output_finish(&run->output) && output_publish(&run->output)))
        return fail_output(run);
    if (run->log.path && !output_publish(&run->log))
        return command_file_error(options->log, output_problem(run->log.error));
    return STATUS_CLEAN;
}

static void close_files(struct run *run) {
    output_abandon(&run->log);
    output_abandon(&run->output);
}

/* --- A capture --- */

static bool take_change(void *user, const struct carry_capture_change *change) {
    struct run *run = user;
    fix_log(run->log_stream, change);
    return !run->log.error && !command_output_failed();
}

static bool show_fix_progress(void *user, const struct carry_capture_progress *progress) {
    (void)user;
    if (progress_due)
        progress_draw(progress->position);
    return !command_output_failed();
}

/* Resets the selection at the first packet, which is read twice if the capture is read twice. */
static void begin_selection(struct run *run) {
    run->selected = 0;
    selection_forget(&run->selection);
}

static bool select_fixed_packet(void *user, const struct carry_capture_packet *packet) {
    struct run *run = user;
    if (packet->number == 1)
        begin_selection(run);
    if (run->options.packets && run->selected == run->options.packets)
        return false;
    if (!selection_has(&run->selection, packet))
        return false;
    run->selected++;
    return true;
}

static struct carry_capture_fix_options fix_options(struct run *run) {
    const bool selects = run->options.packets || selection_is_wanted(&run->selection);
    return (struct carry_capture_fix_options){
        .packet = run->options.packet,
        .change = run->log_stream ? take_change : NULL,
        .progress = show_fix_progress,
        .user = run,
        .select = selects ? select_fixed_packet : NULL,
    };
}

/* Copies into the file that will appear. Only the library writes to it. */
static int fix_into_file(struct run *run, const struct carry_capture_fix_options *options) {
    const int code =
        carry_capture_fix_fd(run->capture, options, run->output.descriptor, &run->repairs);
    if (code == CARRY_ERROR_WRITE)
        run->output.error = carry_capture_last_error(run->capture)->system;
    return code;
}

static int fix_into_sink(struct run *run, const struct carry_capture_fix_options *options) {
    const struct carry_capture_sink sink = {
        .write = write_copy_bytes,
        .rewrite = run->output.is_stream ? NULL : rewrite_bytes,
        .user = run,
    };
    return carry_capture_fix(run->capture, options, run->options.output ? &sink : NULL,
                             &run->repairs);
}

/* Copies the capture. Write errors are reported by publish_files(). */
static int write_repaired(struct run *run) {
    const struct carry_capture_fix_options options = fix_options(run);
    const bool is_file = run->options.output && !run->is_direct && !run->output.is_stream;
    const int code = is_file ? fix_into_file(run, &options) : fix_into_sink(run, &options);
    const struct carry_capture_error error = source_error(run->capture);
    switch (code) {
    case CARRY_OK:
    case CARRY_ERROR_DAMAGED:
    case CARRY_ERROR_WRITE:
    case CARRY_ERROR_CANCELLED:
        return STATUS_CLEAN;
    case CARRY_ERROR_UNRECOGNISED:
        command_file_error(run->options.input, error.text);
        return STATUS_DAMAGED;
    default:
        return command_file_error(run->options.input, error.text);
    }
}

static int copy_status(const struct run *run) {
    if (carry_capture_last_error(run->capture)->code == CARRY_ERROR_DAMAGED)
        return STATUS_DAMAGED;
    return carry_capture_repair_totals(run->repairs)->left_wrong ? STATUS_BAD : STATUS_CLEAN;
}

static void print_fix_report(const struct run *run) {
    const struct fix_report report = {
        .input = run->options.input,
        .output = run->options.output,
        .repairs = run->repairs,
        .error = *carry_capture_last_error(run->capture),
    };
    if (run->options.quiet || logs_to_output(run))
        return;
    if (run->options.json)
        fix_report_json(stdout, &report);
    else if (run->is_one_of_many)
        fix_report_line(&report);
    else
        fix_report_text(&report);
}

/* Checks whether to show progress. Changes listed on the terminal would mix with it; so would the
   output of a program that reads the copy from a pipe. */
static bool fix_shows_progress(const struct run *run) {
    bool lists_here = logs_to_output(run) && isatty(STDOUT_FILENO);
    if (run->is_direct)
        return !run->output.is_stream;
    return run->options.quiet || (!lists_here && !progress_is_piped());
}

/* Returns how many bytes will be read; 0: unknown. */
static uint64_t work_size(struct run *run) {
    const struct carry_capture_fix_options options = fix_options(run);
    return carry_capture_size(run->capture)
           << carry_capture_fix_reads_twice(run->capture, &options);
}

static int start_copy(struct run *run) {
    if (fix_shows_progress(run))
        progress_begin(work_size(run));
    if (source_waits(run->capture))
        take_stops(run);
    return write_repaired(run);
}

static int fix_capture(struct run *run) {
    int status = open_fix_files(run);
    if (status == STATUS_CLEAN)
        status = start_copy(run);
    if (status == STATUS_CLEAN)
        status = publish_files(run);
    close_files(run);
    signals_stop_end();
    progress_end();
    if (status != STATUS_CLEAN)
        return status;
    print_fix_report(run);
    if (!run->options.quiet)
        selection_report(&run->selection, run->options.input);
    return copy_status(run);
}

static int fix_file(struct run *run) {
    run->capture = source_open(run->options.input);
    if (!run->capture)
        return command_file_error(run->options.input, strerror(errno));
    int status = fix_capture(run);
    carry_capture_repairs_free(run->repairs);
    carry_capture_close(run->capture);
    return status;
}

/* --- Folders --- */

static int fix_file_of_folder(void *context, const char *input, const char *output) {
    const struct run *all = context;
    struct run run = {.options = all->options, .selection = all->selection, .is_one_of_many = true};
    run.options.input = input;
    run.options.output = output;
    return fix_file(&run);
}

static int fix_captures(struct run *run) {
    const struct options *options = &run->options;
    struct fix_folder folder = {
        .input = options->input,
        .output = options->output,
        .fix = fix_file_of_folder,
        .context = run,
    };
    if (options->log)
        return command_usage("fix", "--log takes one capture, not a folder");
    if (options->output && output_is_direct(options->output))
        return command_usage("fix", "a folder is repaired into a folder, not into '%s'",
                             output_name(options->output));
    int status = fix_folder(&folder);
    if (folder.captures && !options->quiet && !options->json)
        fix_report_folder(folder.captures, folder.skipped);
    return status;
}

int command_fix(int argc, char **argv) {
    struct run run = {0};
    int status;
    if (!read_fix_options(argc, argv, &run.options, &status))
        return status;
    status = selection_open(&run.selection, argv[0], &run.options.selection);
    if (status == STATUS_CLEAN)
        status = folder_is(run.options.input) ? fix_captures(&run) : fix_file(&run);
    selection_close(&run.selection);
    return status;
}
