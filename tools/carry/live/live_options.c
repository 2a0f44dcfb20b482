/* SPDX-License-Identifier: MIT */
#include "live/live_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/file_name.h"
#include "common/options.h"
#include "common/output.h"
#include "live/ring.h"

#define SCREEN_SECONDS 1
#define LINES_SECONDS  10
#define SECONDS_MAX    (UINT64_C(366) * 24 * 3600)

#define RING_KIB_DEFAULT (16u << 10)
#define RING_KIB_MIN     (1u << 10)
#define RING_KIB_MAX     (2u << 20)

static const char usage[] =
    "Usage: carry live [OPTION]... IFACE...\n"
    "       carry live [OPTION]... -i IFACE... [FILTER]...\n"
    "\n"
    "Watches the checksums of network interfaces: how many are right, wrong, or left\n"
    "to the network card, by interface, direction and protocol. The kernel says which\n"
    "checksums are left, so that partial ones are certain. IFACE any stands for all\n"
    "interfaces of the network namespace, also those that come later. FILTER is an\n"
    "expression as tcpdump takes it. Needs the capability CAP_NET_RAW, and gives up\n"
    "all privileges once the interfaces are open.\n"
    "\n"
    "Ends at Ctrl-C, SIGTERM or SIGHUP with a summary, at a second one at once.\n"
    "\n"
    "What to watch:\n"
    "  -i, --interface=IFACE   watch this interface; may be given several times\n"
    "      --promiscuous       also packets for other machines\n"
    "  -c, --count=COUNT       end after COUNT packets\n"
    "      --duration=SECONDS  end after SECONDS\n"
    "  -B, --buffer-size=KIB   memory for packets that wait, for each interface\n"
    "                          (16384)\n"
    "  -j, --threads=COUNT     share the packets between COUNT threads (1)\n"
    "\n"
    "Output:\n"
    "      --interval=SECONDS  report every SECONDS (1 on a terminal, else 10)\n"
    "  -b, --bad-only          list every bad or illegal checksum, one a line, in\n"
    "                          place of reports\n"
    "  -J, --json              print a JSON object for each report; with --bad-only,\n"
    "                          for each checksum\n"
    "  -q, --quiet             print no reports\n"
    "  -w, --write=FILE        write the packets as pcapng to FILE, - for standard\n"
    "                          output; with --bad-only, those with bad or illegal\n"
    "                          checksums\n"
    "      --metrics=[ADDRESS:]PORT\n"
    "                          serve metrics for Prometheus (ADDRESS 127.0.0.1)\n"
    "      --metrics-file=FILE write them to FILE at every report, for node_exporter\n"
    "      --user=USER         go on as this user once the interfaces are open\n"
    "      --fail              exit with 1 if a checksum is bad or illegal\n"
    "\n"
    "  -h, --help              print this help\n"
    "\n"
    "Exit status:\n"
    "  0  ended as asked    1  with --fail: a checksum is bad or illegal\n"
    "  3  wrong usage, or an interface or a file failed\n"
    "\n"
    "Examples:\n"
    "  carry live eth0\n"
    "  carry live --bad-only -i any tcp port 443\n"
    "  carry live -q --metrics=9099 eth0 eth1\n"
    "  carry live --duration=60 -w minute.pcapng eth0\n";

/* Returns the interface's primary name. Users may also give alternative names, but packets are
   reported with the primary one. */
static const char *kernel_name(const char *given, char name[IF_NAMESIZE]) {
    const bool is_any = strcmp(given, RING_ANY) == 0;
    return !is_any && if_indextoname(if_nametoindex(given), name) ? name : given;
}

unsigned live_options_find(const struct live_options *options, const char *name) {
    unsigned place = 0;
    while (place < options->interfaces_count && strcmp(options->interfaces[place], name) != 0)
        place++;
    return place;
}

static int add_interface(struct live_options *options, const char *command, const char *given) {
    if (options->interfaces_count == LIVE_INTERFACES_MAX)
        return command_usage(command, "at most %d interfaces", LIVE_INTERFACES_MAX);
    const char *name = kernel_name(given, options->names[options->interfaces_count]);
    if (live_options_find(options, name) < options->interfaces_count)
        return command_usage(command, "interface '%s' is given twice", name);
    options->interfaces[options->interfaces_count++] = name;
    if (options->interfaces_count > 1 &&
        live_options_find(options, RING_ANY) < options->interfaces_count)
        return command_usage(command, RING_ANY " includes all other interfaces");
    return STATUS_CLEAN;
}

static int set_interface(const char *command, const struct option_row *row, const char *text) {
    return add_interface(row->target, command, text);
}

static bool read_live_options(int argc, char **argv, struct live_options *options, int *status) {
    const struct option_row rows[] = {
        {"interface", 'i', .set = set_interface, .target = options},
        {"promiscuous", .flag = &options->promiscuous},
        {"count", 'c', .number = &options->packets, OPTION_RANGE(1, UINT64_MAX)},
        {"duration", .number = &options->duration, OPTION_RANGE(1, SECONDS_MAX)},
        {"buffer-size", 'B', .number = &options->ring_kib,
         OPTION_RANGE(RING_KIB_MIN, RING_KIB_MAX)},
        {"threads", 'j', .number = &options->threads, OPTION_RANGE(1, LIVE_THREADS_MAX)},
        {"interval", .number = &options->interval, OPTION_RANGE(1, SECONDS_MAX)},
        {"bad-only", 'b', .flag = &options->bad_only},
        {"json", 'J', .flag = &options->json},
        {"quiet", 'q', .flag = &options->quiet},
        {"write", 'w', .text = &options->write},
        {"user", .text = &options->user},
        {"metrics", .text = &options->metrics},
        {"metrics-file", .text = &options->metrics_file},
        {"fail", .flag = &options->fails},
        {0},
    };
    return options_read(argc, argv, usage, rows, OPERANDS_ANY, status);
}

/* Joins the words of a filter; false if there is no memory. */
static bool join_filter(struct live_options *options, char **words, int count) {
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(words[i]) + 1;
    options->filter = count ? calloc(1, size) : NULL;
    for (int i = 0; i < count && options->filter; i++)
        strcat(strcat(options->filter, i ? " " : ""), words[i]);
    return !count || options->filter;
}

/* Reports a word that is not an interface if there are several words, or one word with blanks: they
   may be meant as a filter. */
static int check_interfaces(char **words, int count) {
    for (int i = 0; i < count && (count > 1 || strchr(words[i], ' ')); i++)
        if (strcmp(words[i], RING_ANY) != 0 && !if_nametoindex(words[i]))
            return command_error("%s: %s; a filter needs -i IFACE before it", words[i],
                                 strerror(errno));
    return STATUS_CLEAN;
}

/* Takes the operands: interfaces or, with --interface, a filter. */
static int take_operands(struct live_options *options, int argc, char **argv) {
    if (options->interfaces_count)
        return join_filter(options, argv + optind, argc - optind)
                   ? STATUS_CLEAN
                   : command_error("no memory for the filter");
    if (optind == argc)
        return command_usage(argv[0], "no interface given");
    int status = check_interfaces(argv + optind, argc - optind);
    for (int i = optind; i < argc && status == STATUS_CLEAN; i++)
        status = add_interface(options, argv[0], argv[i]);
    return status;
}

/* Checks the files of options. Packets are not written to a terminal, and not compressed. Metrics
   are not written to standard output, as their readers need a file name. */
static int check_file_options(const struct live_options *options) {
    if (options->write && strcmp(options->write, "-") == 0 && isatty(STDOUT_FILENO))
        return command_usage("live", "--write - must not lead to a terminal");
    if (options->write && file_name_is_packed(options->write))
        return command_usage("live",
                             "--write does not compress: '%s' is the name of a compressed file",
                             options->write);
    if (options->metrics_file && strcmp(options->metrics_file, "-") == 0)
        return command_usage("live", "--metrics-file must name a file, not standard output");
    return output_check_name("live", "metrics-file", options->metrics_file);
}

bool live_options(int argc, char **argv, struct live_options *options, int *status) {
    *options =
        (struct live_options){.packets = UINT64_MAX, .ring_kib = RING_KIB_DEFAULT, .threads = 1};
    if (!read_live_options(argc, argv, options, status))
        return false;
    if (!options->interval)
        options->interval =
            isatty(STDOUT_FILENO) && !options->json ? SCREEN_SECONDS : LINES_SECONDS;
    *status = take_operands(options, argc, argv);
    if (*status == STATUS_CLEAN)
        *status = check_file_options(options);
    return *status == STATUS_CLEAN;
}
