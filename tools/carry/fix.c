/* SPDX-License-Identifier: MIT */
/* carry fix: a copy of a capture with its checksums repaired, and every other byte as it was. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <carry/packet.h>

#include "capture.h"
#include "command.h"
#include "fix_report.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "tally.h"

static const char usage[] =
    "Usage: carry fix [OPTION]... FILE -o OUTPUT\n"
    "\n"
    "Writes a copy of a pcap or pcapng capture in which checksums that were bad,\n"
    "partial or illegal are right. Nothing but checksums changes: times, blocks,\n"
    "options, damage and what follows it are copied byte for byte. Fragments and\n"
    "packets that the capture cut short stay as they are, as does what cannot be\n"
    "verified. The output appears whole or not at all, and is never the input.\n"
    "FILE may be a pipe, or - for standard input.\n"
    "\n"
    "  -o, --output=FILE    where the copy goes\n"
    "      --only=VERDICTS  repair only sums that are bad, partial or illegal: names,\n"
    "                       separated by commas\n"
    "      --dry-run        write no copy; say what would be repaired\n"
    "  -l, --log=FILE       a line of JSON for each change; - prints them in place of\n"
    "                       the summary\n"
    "  -J, --json           print the summary as JSON\n"
    "  -q, --quiet          print nothing; the exit status tells\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status, by what the copy holds, as carry check tells it:\n"
    "  0  clean             1  a checksum is still bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "\n"
    "Examples:\n"
    "  carry fix offloaded.pcap -o fixed.pcap --only partial\n"
    "  carry fix broken.pcapng -o fixed.pcapng --log changes.ndjson\n"
    "  carry fix capture.pcap.gz --dry-run\n";

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
    struct output log;
    FILE *log_stream; /* NULL: none is wanted */
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
    if (run->output.path && strcmp(run->log.path, run->output.path) == 0)
        return command_file_error(path, "is the output too");
    run->log_stream = output_stream(&run->log);
    return run->log_stream ? STATUS_CLEAN : command_file_error(path, strerror(errno));
}

static void take_bytes(void *context, const void *bytes, size_t size) {
    struct run *run = context;
    output_write(&run->output, bytes, size);
}

static int open_files(struct run *run) {
    if (run->options.output) {
        int status = open_output(run, &run->output, run->options.output);
        if (status != STATUS_CLEAN)
            return status;
        capture_pass_to(run->capture, take_bytes, run);
    }
    return open_log(run);
}

/* All of the log is written; false, with the log's error set, if not. */
static bool finish_log(struct run *run) {
    if (logs_to_output(run))
        return fflush(stdout) == 0 && !command_output_failed();
    return !run->log.path || output_finish(&run->log);
}

/* Both files appear, or a message tells why not, and none does. */
static int publish(struct run *run) {
    const struct options *options = &run->options;
    if (!finish_log(run)) /* whoever started this learns of standard output's failure in the end */
        return logs_to_output(run)
                   ? STATUS_ERROR
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

static bool is_wanted(const struct run *run, unsigned verdict) {
    uint32_t wanted = run->options.packet.fix;
    return wanted ? wanted >> verdict & 1 : tally_names(verdict);
}

static bool any_wanted(const struct run *run, const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_wanted(run, sums[i].verdict))
            return true;
    return false;
}

static void note_changes(struct run *run, const struct packet *packet,
                         const struct carry_packet_sum *changes, size_t count) {
    run->report.changed_packets++;
    for (size_t i = 0; i < count; i++) {
        run->report.repaired[changes[i].protocol][changes[i].verdict]++;
        if (run->log_stream)
            fix_log(run->log_stream, packet, &changes[i]);
    }
}

static void repair(struct run *run, const struct packet *packet) {
    const struct carry_packet_options *options = &run->options.packet;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX], changes[CARRY_PACKET_SUMS_MAX];
    struct carry_frame frame = tally_frame(packet);
    size_t count = carry_packet_check(&frame, options, sums, CARRY_PACKET_SUMS_MAX);
    if (any_wanted(run, sums, count)) {
        size_t changed = carry_packet_fix(&frame, options, changes, CARRY_PACKET_SUMS_MAX);
        if (changed) {
            note_changes(run, packet, changes, changed);
            count = carry_packet_check(&frame, options, sums, CARRY_PACKET_SUMS_MAX);
        }
    }
    run->report.packets++;
    run->report.bytes += packet->captured;
    for (size_t i = 0; i < count; i++)
        run->report.left[sums[i].protocol][sums[i].verdict]++;
}

static bool writing_failed(const struct run *run) {
    return run->output.error || run->log.error || command_output_failed();
}

static enum capture_result repair_all(struct run *run) {
    struct packet packet;
    enum capture_result result;
    while ((result = capture_next(run->capture, &packet)) == CAPTURE_PACKET) {
        repair(run, &packet);
        if (writing_failed(run))
            return CAPTURE_END;
        if (progress_due)
            progress_draw(capture_position(run->capture));
    }
    if (result != CAPTURE_FAILED && !capture_pass_rest(run->capture))
        return CAPTURE_FAILED;
    return result;
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

static int fix_capture(struct run *run) {
    progress_begin(capture_size(run->capture));
    int status = open_files(run);
    if (status == STATUS_CLEAN) {
        run->report.end = repair_all(run);
        run->report.problem = capture_problem(run->capture);
        if (run->report.end == CAPTURE_FAILED)
            status = command_file_error(run->options.input, run->report.problem->reason);
    }
    if (status == STATUS_CLEAN)
        status = publish(run);
    close_files(run);
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
