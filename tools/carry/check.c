/* SPDX-License-Identifier: MIT */
/* carry check: verifies every checksum of captures. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <carry/packet.h>

#include "capture.h"
#include "command.h"
#include "progress.h"
#include "report.h"
#include "tally.h"
#include "text.h"

#define SHOWN_DEFAULT 5
#define SHOWN_MAX     10000

static const char usage[] =
    "Usage: carry check [OPTION]... FILE...\n"
    "\n"
    "Verifies the checksums of the packets in pcap and pcapng captures. Tells those\n"
    "that are wrong from those that transmit offload left to the network card, which\n"
    "are partial: nothing is wrong with them. FILE may be a pipe, or - for standard\n"
    "input.\n"
    "\n"
    "  -b, --bad-only     list every bad or illegal checksum, one a line\n"
    "  -j, --json         print a JSON object for each file, or for each line of -b\n"
    "  -n, --show=COUNT   show the first COUNT bad checksums in the summary (5)\n"
    "  -q, --quiet        print nothing; the exit status tells\n"
    "  -h, --help         print this\n"
    "\n"
    "Exit status, the gravest of all files:\n"
    "  0  clean             1  a checksum is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "\n"
    "Examples:\n"
    "  carry check capture.pcap\n"
    "  carry check --json *.pcapng | jq .protocols.tcp\n"
    "  zcat capture.pcap.gz | carry check -\n"
    "  tcpdump -U -w - | carry check --bad-only -\n";

static const char letters[] = ":bjn:qh";

static const struct option long_options[] = {
    {"bad-only", no_argument, NULL, 'b'},   {"json", no_argument, NULL, 'j'},
    {"show", required_argument, NULL, 'n'}, {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},       {0},
};

struct options {
    bool bad_only;
    bool json;
    bool quiet;
    bool help;
    size_t show;
};

/* All captures of one call. */
struct run {
    struct options options;
    bool many;                /* more than one file is named */
    struct finding *findings; /* of the present capture; room for options.show */
    size_t findings_count;
    struct tally *total;
    unsigned captures, damaged, failed;
};

static int set_show(struct options *options, const char *text) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > SHOWN_MAX)
        return command_usage("check", "--show takes a number from 0 to %d, not '%s'", SHOWN_MAX,
                             text);
    options->show = value;
    return STATUS_CLEAN;
}

static int parse(int argc, char **argv, struct options *options) {
    int option, status = STATUS_CLEAN;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        switch (option) {
        case 'b':
            options->bad_only = true;
            break;
        case 'j':
            options->json = true;
            break;
        case 'n':
            status = set_show(options, optarg);
            break;
        case 'q':
            options->quiet = true;
            break;
        case 'h':
            options->help = true;
            break;
        default:
            status = command_bad_option(argv, option);
        }
        if (status != STATUS_CLEAN)
            return status;
    }
    if (!options->help && optind == argc)
        return command_usage("check", "no file given");
    if (options->quiet)
        options->bad_only = false;
    return STATUS_CLEAN;
}

static void list(const struct run *run, const char *path, const struct finding *finding) {
    if (run->options.json)
        report_finding_json(path, finding);
    else
        report_finding_text(run->many ? path : NULL, finding);
}

/* The bad ones of one packet: listed at once, or kept for the summary while there is room. */
static void note_findings(struct run *run, const char *path, const struct packet *packet,
                          const struct carry_frame *frame, const struct carry_packet_sum *sums,
                          size_t count) {
    struct finding finding;
    for (size_t i = 0; i < count; i++) {
        if (!tally_is_finding(sums[i].verdict))
            continue;
        tally_describe(&finding, packet, frame, &sums[i]);
        if (run->options.bad_only)
            list(run, path, &finding);
        else if (run->findings_count < run->options.show)
            run->findings[run->findings_count++] = finding;
    }
}

static enum capture_result walk(struct run *run, const char *path, struct capture *capture,
                                struct tally *tally) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct packet packet;
    enum capture_result result;
    while ((result = capture_next(capture, &packet)) == CAPTURE_PACKET) {
        struct carry_frame frame = tally_frame(&packet);
        size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
        if (tally_add(tally, &packet, &frame, sums, count)) {
            note_findings(run, path, &packet, &frame, sums, count);
            /* What comes through a pipe may never end: let its reader see each line. */
            if (run->options.bad_only && capture_size(capture) == 0)
                fflush(stdout);
            if (command_output_failed())
                return CAPTURE_END;
        }
        if (progress_due)
            progress_draw(capture_position(capture));
    }
    return result;
}

static int file_error(const char *path, const char *reason) {
    fputs("carry: ", stderr);
    text_print_name(stderr, path);
    fprintf(stderr, ": %s\n", reason);
    return STATUS_ERROR;
}

/* What the summary would have said of a capture that ended early, where there is none. */
static void print_problem(const struct run *run, const struct report *report) {
    char offset[TEXT_SIZE], text[sizeof report->problem->reason + TEXT_SIZE + 32];
    if (report->end == CAPTURE_FAILED) {
        file_error(report->path, report->problem->reason);
    } else if (report->end == CAPTURE_DAMAGED && run->options.bad_only) {
        snprintf(text, sizeof text, "damaged at offset %s: %s",
                 text_count(offset, report->problem->offset), report->problem->reason);
        file_error(report->path, text);
    }
}

static void print_report(const struct run *run, const struct report *report) {
    print_problem(run, report);
    if (run->options.quiet || run->options.bad_only)
        return;
    if (run->options.json) {
        report_json(report);
        return;
    }
    if (run->captures > 1)
        putchar('\n');
    report_text(report);
}

static int count_capture(struct run *run, const struct tally *tally, enum capture_result end) {
    run->captures++;
    run->damaged += end == CAPTURE_DAMAGED;
    run->failed += end == CAPTURE_FAILED;
    tally_merge(run->total, tally);
    if (end == CAPTURE_FAILED)
        return STATUS_ERROR;
    if (end == CAPTURE_DAMAGED)
        return STATUS_DAMAGED;
    return tally_findings(tally) ? STATUS_BAD : STATUS_CLEAN;
}

static int check_capture(struct run *run, const char *path, struct capture *capture) {
    struct tally *tally = calloc(1, sizeof *tally);
    if (!tally)
        return file_error(path, strerror(ENOMEM));
    run->findings_count = 0;
    bool mixes_with_output = run->options.bad_only && isatty(STDOUT_FILENO);
    if (!mixes_with_output)
        progress_begin(capture_size(capture));
    enum capture_result end = walk(run, path, capture, tally);
    progress_end();
    int status = count_capture(run, tally, end);
    print_report(run, &(struct report){
                          .path = path,
                          .tally = tally,
                          .findings = run->findings,
                          .findings_count = run->findings_count,
                          .end = end,
                          .problem = capture_problem(capture),
                      });
    free(tally);
    return status;
}

/* A file that cannot be opened: a message, and with --json an object like any other file's. */
static int report_unopened(struct run *run, const char *path, const char *reason) {
    struct tally *nothing = calloc(1, sizeof *nothing);
    if (!nothing)
        return file_error(path, reason);
    struct capture_problem problem = {0};
    snprintf(problem.reason, sizeof problem.reason, "%s", reason);
    const struct report report = {
        .path = path, .tally = nothing, .end = CAPTURE_FAILED, .problem = &problem};
    if (run->options.json)
        print_report(run, &report);
    else
        print_problem(run, &report);
    int status = count_capture(run, nothing, CAPTURE_FAILED);
    free(nothing);
    return status;
}

static int check_file(struct run *run, const char *path) {
    struct capture *capture = capture_open(path);
    if (!capture)
        return report_unopened(
            run, path, errno == EISDIR ? "is a folder: name the captures in it" : strerror(errno));
    int status = check_capture(run, path, capture);
    capture_close(capture);
    return status;
}

static int check_files(struct run *run, char **paths, int count) {
    int gravest = STATUS_CLEAN;
    for (int i = 0; i < count && !command_output_failed(); i++) {
        int status = check_file(run, paths[i]);
        gravest = status > gravest ? status : gravest;
    }
    if (run->many && !run->options.json && !run->options.quiet && !run->options.bad_only)
        report_total(run->total, run->captures, run->damaged, run->failed);
    return gravest;
}

int command_check(int argc, char **argv) {
    struct run run = {.options.show = SHOWN_DEFAULT};
    int status = parse(argc, argv, &run.options);
    if (status != STATUS_CLEAN)
        return status;
    if (run.options.help) {
        fputs(usage, stdout);
        return STATUS_CLEAN;
    }
    run.many = argc - optind > 1;
    run.total = calloc(1, sizeof *run.total);
    run.findings = calloc(run.options.show + 1, sizeof *run.findings);
    if (run.total && run.findings)
        status = check_files(&run, argv + optind, argc - optind);
    else
        status = command_error("%s", strerror(ENOMEM));
    free(run.findings);
    free(run.total);
    return status;
}
