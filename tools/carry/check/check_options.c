/* SPDX-License-Identifier: MIT */
#include "check/check_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <carry/capture.h>

#include "common/command.h"
#include "common/options.h"
#include "common/output.h"
#include "common/text.h"

#define JIT_DEFAULT   8192
#define SHOWN_DEFAULT 5
#define SHOWN_MAX     10000

#define PARTIAL_BIT (1u << CARRY_VERDICT_PARTIAL)

static const char usage[] =
    "Usage: carry check [OPTION]... FILE... [-- FILTER]\n"
    "\n"
    "Verifies the checksums of the packets in captures: pcap, pcapng, snoop, ERF and\n"
    "Network Monitor. Checksums that transmit offload left to the network card are\n"
    "partial: they are not wrong.\n"
    "\n"
    "FILE is a capture (may be compressed with gzip, zstd, xz, lz4 or bzip2), a\n"
    "pipe, - for standard input, or a folder. All captures below a folder are\n"
    "checked, in the order of their names; other files are skipped, unless their\n"
    "names end as those of captures do. Several captures get one line each, and one\n"
    "summary. The first Ctrl-C ends input from a pipe; what was read is reported.\n"
    "\n"
    "Verdicts:\n"
    "  good          the checksum verifies\n"
    "  bad           it does not verify\n"
    "  partial       transmit offload left it for the network card to complete\n"
    "  absent        the sender chose to send none, as UDP over IPv4 may\n"
    "  illegal       there is none, though the protocol demands one\n"
    "  unverifiable  the capture does not hold what is needed\n"
    "\n"
    "Output:\n"
    "  -b, --bad-only          list every bad or illegal checksum, one a line\n"
    "      --each              print a full summary of each of several captures\n"
    "  -J, --json              print a JSON object for each capture; with --bad-only,\n"
    "                          for each checksum\n"
    "      --list-bad          print only the names of captures that are not clean;\n"
    "                          with --json, --tsv or --csv, only their output\n"
    "  -0, --null              end the names of --list-bad with NUL, for xargs -0\n"
    "  -t, --tsv               print tab-separated columns with a header line\n"
    "      --csv               print the same columns separated by commas (RFC 4180)\n"
    "      --color[=WHEN]      use colours: auto (default), always or never; without\n"
    "                          WHEN, always\n"
    "  -n, --show=COUNT        list the first COUNT bad checksums in the summary (5)\n"
    "  -q, --quiet             print nothing; only set the exit status\n"
    "  -w, --write-bad=FILE    write the packets with bad or illegal checksums as\n"
    "                          pcapng to FILE, with the permissions that all captures\n"
    "                          have in common; .gz and .zst are compressed\n"
    "      --metrics-file=FILE write counts over all captures to FILE, for\n"
    "                          node_exporter's textfile collector\n"
    "      --html=FILE         write all results as a page for browsers to FILE\n"
    "\n"
    "Selection:\n"
    "      --files0-from=LIST  check the files whose names are in LIST, each ended by\n"
    "                          NUL; - reads the names from standard input\n"
    "  -f, --filter=FILTER     check only packets that FILTER selects, an expression\n"
    "                          of tcpdump such as 'tcp port 80'; behind FILE and --,\n"
    "                          FILTER may be several words\n"
    "  -A, --after=TIME        check only packets from TIME on, such as\n"
    "                          2026-11-25T20:38:00.5 in local time or with a zone (Z,\n"
    "                          +01:00), or seconds since 1970\n"
    "  -B, --before=TIME       check only packets earlier than TIME\n"
    "      --frames=RANGES     check only packets of these numbers: 10-20,30,40-\n"
    "  -c, --count=COUNT       check only the first COUNT of these packets in each\n"
    "                          capture\n"
    "  -p, --proto=LIST        check only these protocols, separated by commas\n"
    "      --partial=VERDICT   judge partial checksums: ok (default), bad or report\n"
    "                          (list them, but do not count them as wrong)\n"
    "      --udp-zero6=VERDICT judge UDP over IPv6 without a checksum: illegal (but\n"
    "                          not in tunnels; default) or ok\n"
    "      --all-zero=VERDICT  judge captures in which every checksum is 0, as those\n"
    "                          of simulators: bad (default) or ok\n"
    "      --no-tunnels        do not check IP packets inside other packets\n"
    "      --no-reassemble     do not reassemble fragmented datagrams (default:\n"
    "                          --reassemble)\n"
    "      --strict            exit with 4 if nothing is wrong, but a checksum is\n"
    "                          unverifiable, a packet was not examined in full, or no\n"
    "                          checksum was verified\n"
    "\n"
    "Speed, with the same output:\n"
    "      --jit[=COUNT]       compile a check for each sequence of headers that at\n"
    "                          least COUNT packets share (8192)\n"
    "  -j, --threads=COUNT     use COUNT threads (default: one for each core)\n"
    "\n"
    "  -h, --help              print this help\n"
    "\n"
    "Exit status, the most severe of all captures:\n"
    "  0  clean             1  a checksum is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "  4  with --strict: nothing is wrong, but not everything was verified\n"
    "\n"
    "Examples:\n"
    "  carry check capture.pcap\n"
    "  carry check --list-bad captures/\n"
    "  carry check capture.pcap -- tcp port 80 and host 10.0.0.5\n"
    "  carry check --json captures/ | jq .protocols.tcp\n"
    "  carry check --proto=tcp,udp --write-bad=bad.pcapng capture.pcap.zst\n"
    "  tcpdump -U -w - | carry check --bad-only -\n";

static void print_check_usage(const void *text) {
    char names[CARRY_PROTOCOL_COUNT * TEXT_SIZE];
    size_t used = 0;
    fputs(text, stdout);
    fputs("\nProtocols for --proto:\n", stdout);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", protocol ? ", " : "",
                                 carry_packet_protocol_name(protocol));
    text_wrap(stdout, 2, names);
}

static int set_format(const char *command, const struct option_row *row, const char *text) {
    (void)command, (void)text;
    struct check_options *options = row->target;
    options->format = (enum check_format)row->low;
    return STATUS_CLEAN;
}

static int set_jit(const char *command, const struct option_row *row, const char *text) {
    uint64_t *count = row->target;
    *count = JIT_DEFAULT;
    return text ? command_number(command, row->name, text, row->low, row->high, count)
                : STATUS_CLEAN;
}

static int set_partial(const char *command, const struct option_row *row, const char *text) {
    struct check_options *options = row->target;
    static const struct {
        const char *name;
        bool wrong, listed;
    } choices[] = {{"ok", false, false}, {"bad", true, true}, {"report", false, true}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(text, choices[i].name) != 0)
            continue;
        options->wrong = CARRY_CAPTURE_WRONG_VERDICTS | (choices[i].wrong ? PARTIAL_BIT : 0);
        options->listed = CARRY_CAPTURE_WRONG_VERDICTS | (choices[i].listed ? PARTIAL_BIT : 0);
        return STATUS_CLEAN;
    }
    return command_usage(command, "--partial takes ok, bad or report, not '%s'", text);
}

static int set_udp_zero6(const char *command, const struct option_row *row, const char *text) {
    struct check_options *options = row->target;
    if (strcmp(text, "ok") == 0)
        options->packet.flags |= CARRY_PACKET_UDP6_ZERO_ABSENT;
    else if (strcmp(text, "illegal") == 0)
        options->packet.flags &= ~(uint32_t)CARRY_PACKET_UDP6_ZERO_ABSENT;
    else
        return command_usage(command, "--udp-zero6 takes ok or illegal, not '%s'", text);
    return STATUS_CLEAN;
}

static int set_all_zero(const char *command, const struct option_row *row, const char *text) {
    struct check_options *options = row->target;
    options->zero_ok = strcmp(text, "ok") == 0;
    return options->zero_ok || strcmp(text, "bad") == 0
               ? STATUS_CLEAN
               : command_usage(command, "--all-zero takes bad or ok, not '%s'", text);
}

static void add_protocol(struct check_options *options, unsigned protocol) {
    for (size_t i = 0; i < options->protocol_count; i++)
        if (options->protocols[i] == protocol)
            return;
    options->protocols[options->protocol_count++] = (enum carry_protocol)protocol;
}

static bool add_protocol_named(struct check_options *options, const char *name, size_t size) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const char *known = carry_packet_protocol_name(protocol);
        if (strlen(known) != size || strncasecmp(known, name, size) != 0)
            continue;
        add_protocol(options, protocol);
        return true;
    }
    return false;
}

static int set_protocols(const char *command, const struct option_row *row, const char *list) {
    struct check_options *options = row->target;
    options->protocol_count = 0;
    for (;; list++) {
        const size_t size = strcspn(list, ",");
        if (!add_protocol_named(options, list, size))
            return command_usage(command, "no protocol '%.*s'", (int)size, list);
        list += size;
        if (!*list)
            return STATUS_CLEAN;
    }
}

/* Reads the options like options_read(). */
static bool read_check_options(int argc, char **argv, struct check_options *options, int *status) {
    const struct option_row rows[] = {
        {"bad-only", 'b', .flag = &options->bad_only},
        {"each", .flag = &options->each},
        {"json", 'J', .set = set_format, .value = VALUE_NONE, .target = options, .low = CHECK_JSON},
        {"list-bad", .flag = &options->list_bad},
        {"null", '0', .flag = &options->null},
        {"tsv", 't', .set = set_format, .value = VALUE_NONE, .target = options, .low = CHECK_TSV},
        {"csv", .set = set_format, .value = VALUE_NONE, .target = options, .low = CHECK_CSV},
        OPTION_COLOR,
        {"show", 'n', .number = &options->show, OPTION_RANGE(0, SHOWN_MAX)},
        {"quiet", 'q', .flag = &options->quiet},
        {"write-bad", 'w', .text = &options->write_bad},
        {"metrics-file", .text = &options->metrics_file},
        {"html", .text = &options->html},
        {"files0-from", .text = &options->files0},
        {"count", 'c', .number = &options->packets, OPTION_RANGE(1, UINT64_MAX)},
        SELECTION_ROWS(&options->selection),
        {"proto", 'p', .set = set_protocols, .target = options},
        {"partial", .set = set_partial, .target = options},
        {"udp-zero6", .set = set_udp_zero6, .target = options},
        {"all-zero", .set = set_all_zero, .target = options},
        {"no-tunnels", .flag = &options->no_tunnels},
        {"reassemble", .flag = &options->reassemble},
        {"no-reassemble", .flag = &options->reassemble, .clears = true},
        {"strict", .flag = &options->strict},
        {"jit", .set = set_jit, .value = VALUE_OPTIONAL, .target = &options->jit,
         OPTION_RANGE(1, UINT64_MAX)},
        {"threads", 'j', .number = &options->threads, OPTION_RANGE(1, CARRY_CAPTURE_THREADS_MAX)},
        {0},
    };
    return options_read_help(argc, argv, print_check_usage, usage, rows, OPERANDS_WORDS, status);
}

static int check_output(const char *option, const char *path) {
    if (path && strcmp(path, "-") == 0)
        return command_usage("check", "--%s must name a file, not standard output", option);
    return output_check_name("check", option, path);
}

/* Refuses options that contradict each other, and applies what they imply. */
static int complete_options(struct check_options *options) {
    if (check_output("write-bad", options->write_bad) != STATUS_CLEAN ||
        check_output("html", options->html) != STATUS_CLEAN ||
        check_output("metrics-file", options->metrics_file) != STATUS_CLEAN)
        return STATUS_ERROR;
    if (options->list_bad && options->bad_only)
        return command_usage("check", "--list-bad and --bad-only exclude each other");
    if (options->null && !(options->list_bad && options->format == CHECK_TEXT))
        return command_usage("check", "--null needs --list-bad, without --json, --tsv or --csv");
    if (options->quiet)
        options->bad_only = false;
    if (options->no_tunnels)
        options->packet.flags |= CARRY_PACKET_NO_TUNNELS;
    if (options->packet.flags)
        options->jit = 0; /* generated functions support none of these flags */
    return STATUS_CLEAN;
}

bool check_options(int argc, char **argv, struct check_options *options, int *status) {
    *options = (struct check_options){
        .reassemble = true,
        .show = SHOWN_DEFAULT,
        .wrong = CARRY_CAPTURE_WRONG_VERDICTS,
        .listed = CARRY_CAPTURE_WRONG_VERDICTS,
    };
    if (!read_check_options(argc, argv, options, status))
        return false;
    const int count = options_count_operands(argv);
    if (options->files0 && count)
        *status = command_usage(argv[0], "with --files0-from, no other FILE may be given: '%s'",
                                argv[optind]);
    else if (!options->files0 && !count)
        *status = command_usage(argv[0], "no file given");
    else
        *status = complete_options(options);
    return *status == STATUS_CLEAN;
}
