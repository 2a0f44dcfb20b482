/* SPDX-License-Identifier: MIT */
#include "capture/check_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <carry/capture.h>

#include "common/command.h"
#include "common/file_name.h"
#include "common/text.h"

#define JIT_DEFAULT   8192
#define SHOWN_DEFAULT 5
#define SHOWN_MAX     10000

#define PARTIAL_BIT (1u << CARRY_VERDICT_PARTIAL)

static const char usage[] =
    "Usage: carry check [OPTION]... FILE...\n"
    "\n"
    "Verifies the checksums of the packets in pcap and pcapng captures. Tells those\n"
    "that are wrong from those that transmit offload left to the network card, which\n"
    "are partial: nothing is wrong with them. FILE may be a pipe, or - for standard\n"
    "input, compressed by gzip or zstd, or a folder: then all captures below it are\n"
    "checked, in order. Other files are skipped, unless they are named as captures.\n"
    "Of several captures each is one line, and a summary of all of them follows. The\n"
    "first Ctrl-C on a pipe ends the input, and all is reported and kept.\n"
    "\n"
    "Verdicts:\n"
    "  good, bad     the checksum agrees with the bytes that it covers, or does not\n"
    "  partial       it is left for the network card to complete\n"
    "  absent        the sender chose to send none, as UDP over IPv4 may\n"
    "  illegal       there is none, though the protocol demands one\n"
    "  unverifiable  the capture does not hold what is needed to tell\n"
    "\n"
    "What is printed:\n"
    "  -b, --bad-only          list every bad or illegal checksum, one a line\n"
    "      --each              print a summary of each of several captures\n"
    "  -J, --json              print a JSON object a file, or a line of -b\n"
    "      --list-bad          print only the names of captures that are not clean;\n"
    "                          with --json or --tsv, only what is printed of those\n"
    "  -0, --null              end names of --list-bad with NUL, for xargs -0\n"
    "  -t, --tsv               print columns between tabs, with a header line\n"
    "  -n, --show=COUNT        show the first COUNT bad checksums in the summary (5)\n"
    "  -q, --quiet             print nothing; the exit status tells\n"
    "  -w, --write-bad=FILE    write the packets with bad checksums as pcapng to FILE\n"
    "                          (its permissions are those that all captures give)\n"
    "\n"
    "What is checked:\n"
    "  -c, --count=COUNT       only the first COUNT packets of each file\n"
    "  -p, --proto=LIST        only these protocols, separated by commas\n"
    "      --partial=VERDICT   partial checksums are ok (the default), bad, or to\n"
    "                          report: listed, but not counted as wrong\n"
    "      --udp-zero6=VERDICT UDP without a checksum over IPv6 is illegal (the\n"
    "                          default, except in tunnels), or ok\n"
    "      --no-tunnels        no IP packet inside another\n"
    "      --no-reassemble     do not reassemble fragmented datagrams (default:\n"
    "                          --reassemble)\n"
    "      --strict            exit with 4 unless everything was verified\n"
    "\n"
    "      --jit[=COUNT]       compile a check for each sequence of headers that\n"
    "                          COUNT packets (8192) have in common; the output is the\n"
    "                          same, sooner for large captures\n"
    "  -j, --threads=COUNT     use COUNT threads (default: one for each core); the\n"
    "                          output is the same for any number\n"
    "  -h, --help              print this\n"
    "\n"
    "Exit status, the gravest of all files:\n"
    "  0  clean             1  a checksum is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, or reading or writing failed\n"
    "  4  with --strict: nothing is wrong, but not everything was verified\n"
    "\n"
    "Examples:\n"
    "  carry check capture.pcap\n"
    "  carry check --list-bad captures/\n"
    "  carry check --json captures/ | jq .protocols.tcp\n"
    "  carry check --proto=tcp,udp --write-bad=bad.pcapng capture.pcap.zst\n"
    "  tcpdump -U -w - | carry check --bad-only -\n";

enum { EACH = 1, JIT, LIST_BAD, PARTIAL, NO_REASSEMBLE, NO_TUNNELS, REASSEMBLE, STRICT, UDP_ZERO6 };

static const char letters[] = ":0bc:hj:Jn:p:qtw:";

static const struct option long_options[] = {
    {"bad-only", no_argument, NULL, 'b'},
    {"count", required_argument, NULL, 'c'},
    {"each", no_argument, NULL, EACH},
    {"help", no_argument, NULL, 'h'},
    {"jit", optional_argument, NULL, JIT},
    {"json", no_argument, NULL, 'J'},
    {"list-bad", no_argument, NULL, LIST_BAD},
    {"no-reassemble", no_argument, NULL, NO_REASSEMBLE},
    {"no-tunnels", no_argument, NULL, NO_TUNNELS},
    {"null", no_argument, NULL, '0'},
    {"partial", required_argument, NULL, PARTIAL},
    {"proto", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},
    {"reassemble", no_argument, NULL, REASSEMBLE},
    {"show", required_argument, NULL, 'n'},
    {"strict", no_argument, NULL, STRICT},
    {"threads", required_argument, NULL, 'j'},
    {"tsv", no_argument, NULL, 't'},
    {"udp-zero6", required_argument, NULL, UDP_ZERO6},
    {"write-bad", required_argument, NULL, 'w'},
    {0},
};

void check_usage(void) {
    char names[CARRY_PROTOCOL_COUNT * TEXT_SIZE];
    size_t used = 0;
    fputs(usage, stdout);
    fputs("\nProtocols, as --proto names them:\n", stdout);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", protocol ? ", " : "",
                                 carry_packet_protocol_name(protocol));
    text_wrap(stdout, 2, names);
}

static int set_show(struct check_options *options, const char *text) {
    uint64_t number = options->show;
    int status = command_number("check", "show", text, 0, SHOWN_MAX, &number);
    options->show = number;
    return status;
}

static int set_threads(struct check_options *options, const char *text) {
    uint64_t number = options->threads;
    int status = command_number("check", "threads", text, 1, CARRY_CAPTURE_THREADS_MAX, &number);
    options->threads = (unsigned)number;
    return status;
}

static int set_jit(struct check_options *options, const char *text) {
    options->jit = JIT_DEFAULT;
    return text ? command_number("check", "jit", text, 1, UINT64_MAX, &options->jit) : STATUS_CLEAN;
}

static int set_partial(struct check_options *options, const char *text) {
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
    return command_usage("check", "--partial takes ok, bad or report, not '%s'", text);
}

static int set_udp_zero6(struct check_options *options, const char *text) {
    if (strcmp(text, "ok") == 0)
        options->packet.flags |= CARRY_PACKET_UDP6_ZERO_ABSENT;
    else if (strcmp(text, "illegal") == 0)
        options->packet.flags &= ~(uint32_t)CARRY_PACKET_UDP6_ZERO_ABSENT;
    else
        return command_usage("check", "--udp-zero6 takes ok or illegal, not '%s'", text);
    return STATUS_CLEAN;
}

static int add_protocol(struct check_options *options, const char *name, size_t size) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const char *known = carry_packet_protocol_name(protocol);
        if (strlen(known) != size || strncasecmp(known, name, size) != 0)
            continue;
        options->protocols |= UINT64_C(1) << protocol;
        return STATUS_CLEAN;
    }
    return command_usage("check", "no protocol '%.*s'", (int)size, name);
}

static int set_protocols(struct check_options *options, const char *list) {
    int status = STATUS_CLEAN;
    options->protocols = 0;
    for (;; list++) {
        size_t size = strcspn(list, ",");
        status = add_protocol(options, list, size);
        list += size;
        if (status != STATUS_CLEAN || !*list)
            return status;
    }
}

/* What an option without a value sets; NULL for all others. */
static bool *flag_of(int option, struct check_options *options) {
    switch (option) {
    case '0':
        return &options->null;
    case 'b':
        return &options->bad_only;
    case 'h':
        return &options->help;
    case 'q':
        return &options->quiet;
    case EACH:
        return &options->each;
    case LIST_BAD:
        return &options->list_bad;
    case STRICT:
        return &options->strict;
    default:
        return NULL;
    }
}

static int parse_option(int option, char **argv, struct check_options *options) {
    switch (option) {
    case 'c':
        return command_number("check", "count", optarg, 1, UINT64_MAX, &options->packets);
    case 'J':
        options->format = CHECK_JSON;
        return STATUS_CLEAN;
    case 'j':
        return set_threads(options, optarg);
    case 'n':
        return set_show(options, optarg);
    case 'p':
        return set_protocols(options, optarg);
    case 't':
        options->format = CHECK_TSV;
        return STATUS_CLEAN;
    case 'w':
        options->write_bad = optarg;
        return STATUS_CLEAN;
    case JIT:
        return set_jit(options, optarg);
    case REASSEMBLE:
    case NO_REASSEMBLE:
        options->reassemble = option == REASSEMBLE;
        return STATUS_CLEAN;
    case NO_TUNNELS:
        options->packet.flags |= CARRY_PACKET_NO_TUNNELS;
        return STATUS_CLEAN;
    case PARTIAL:
        return set_partial(options, optarg);
    case UDP_ZERO6:
        return set_udp_zero6(options, optarg);
    default:
        return command_bad_option(argv, option);
    }
}

int check_options(int argc, char **argv, struct check_options *options) {
    int option;
    *options = (struct check_options){
        .reassemble = true,
        .show = SHOWN_DEFAULT,
        .wrong = CARRY_CAPTURE_WRONG_VERDICTS,
        .listed = CARRY_CAPTURE_WRONG_VERDICTS,
    };
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        bool *flag = flag_of(option, options);
        int status = STATUS_CLEAN;
        if (flag)
            *flag = true;
        else
            status = parse_option(option, argv, options);
        if (status != STATUS_CLEAN)
            return status;
    }
    if (!options->help && optind == argc)
        return command_usage("check", "no file given");
    if (options->write_bad && strcmp(options->write_bad, "-") == 0)
        return command_usage("check", "--write-bad must be a file: it appears whole or not at all");
    if (options->write_bad && file_name_is_packed(options->write_bad))
        return command_usage("check", "--write-bad is never compressed: '%s' says that it is",
                             options->write_bad);
    if (options->list_bad && options->bad_only)
        return command_usage("check", "--list-bad lists files, --bad-only checksums: not both");
    if (options->null && !(options->list_bad && options->format == CHECK_TEXT))
        return command_usage("check", "--null is for the names of --list-bad");
    if (options->quiet)
        options->bad_only = false;
    if (options->packet.flags)
        options->jit = 0; /* functions know no options */
    return STATUS_CLEAN;
}
