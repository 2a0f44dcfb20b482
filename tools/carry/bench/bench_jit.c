/* SPDX-License-Identifier: MIT */
/* `carry bench jit`: times functions made at run time beside compiled functions. */
#include "bench/bench_jit.h"

#include <jansson.h>
#include <stdio.h>

#include <carry/cpu.h>

#include "bench/bench_options.h"
#include "bench/benches.h"
#include "bench/kernels.h"
#include "bench/noise.h"
#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"

static const char *const sum_names[JIT_SUMS] = {"generic", "best", "exact", "range"};
static const char *const way_names[JIT_WAYS] = {"compiled", "made"};

static const char usage[] =
    "Usage: carry bench jit [OPTION]...\n"
    "\n"
    "Times sums of 20 to 1,500 bytes with the kernel in portable C, with the best\n"
    "kernel through carry_sum(), with a function generated for the exact size, and\n"
    "with one generated for all of these sizes. Then times checks of packets of TCP\n"
    "over IPv4, writes of their addresses, ports, sequence number and time to live,\n"
    "and the generation of the functions. Takes ten seconds.\n"
    "\n"
    "  --quick       fewer rounds: a second\n"
    "  -J, --json    print everything measured as a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0 measured, or nothing can be generated on this architecture; 1 a\n"
    "function is wrong; 3 wrong usage, out of memory, or built without libcarry-jit.\n"
    "\n"
    "Examples:\n"
    "  carry bench jit\n"
    "  carry bench jit --json\n";

/* Returns how many million packets a second a CPU processes if it does nothing else. */
static double jit_millions(const struct bench_stats *ns) {
    return 1e3 / ns->median;
}

/* --- As text --- */

static void print_times(const struct jit_bench *bench, size_t mode) {
    printf("%s  bytes  generic     best    exact    range      exact    range%s\n",
           text_colour(COLOUR_FAINT), text_colour(COLOUR_NONE));
    for (size_t size = 0; size < JIT_SIZES; size++) {
        const struct bench_stats *ns = bench->sums[mode][size];
        const double *speedups = bench->sum_speedups[mode][size];
        char text[TEXT_SIZE];
        printf("%7s", text_count(text, jit_sizes[size]));
        for (size_t sum = 0; sum < JIT_SUMS; sum++)
            printf("%9s", text_measure(text, ns[sum].median));
        printf("%11s", text_times(text, speedups[JIT_EXACT]));
        printf("%9s\n", text_times(text, speedups[JIT_RANGE]));
    }
}

/* Writes a measure of at most six characters; below 1 it has four decimals. Returns `text`. */
static char *fine_measure(char *text, double value) {
    if (value >= 0.99995)
        return text_measure(text, value);
    snprintf(text, TEXT_SIZE, "%.4f", value);
    return text;
}

static void print_rate_names(void) {
    printf("%s  bytes%18s%30s\n       ", text_colour(COLOUR_FAINT), "ns a byte",
           "million packets a second");
    for (size_t i = 0; i < 2; i++) {
        for (size_t sum = 0; sum < JIT_SUMS; sum++)
            printf("%8s", sum_names[sum]);
        printf("%s", i ? text_colour(COLOUR_NONE) : "   ");
    }
    putchar('\n');
}

/* Prints, for calls that each sum one packet, nanoseconds per byte, and millions of packets per
 * second. */
static void print_rates(const struct jit_bench *bench, size_t mode) {
    print_rate_names();
    for (size_t size = 0; size < JIT_SIZES; size++) {
        const struct bench_stats *ns = bench->sums[mode][size];
        char text[TEXT_SIZE];
        printf("%7s", text_count(text, jit_sizes[size]));
        for (size_t sum = 0; sum < JIT_SUMS; sum++)
            printf("%8s", fine_measure(text, ns[sum].median / (double)jit_sizes[size]));
        printf("   ");
        for (size_t sum = 0; sum < JIT_SUMS; sum++)
            printf("%8s", fine_measure(text, jit_millions(&ns[sum])));
        putchar('\n');
    }
}

static void print_jit_sums(const struct jit_bench *bench, size_t mode) {
    printf("\n"
           "%ssums, %s%s: ns each, and times as fast as %s by carry_sum()\n",
           text_colour(COLOUR_BOLD), modes[mode].name, text_colour(COLOUR_NONE), bench->best);
    print_times(bench, mode);
    putchar('\n');
    print_rates(bench, mode);
}

static void print_jit_packets(const struct jit_bench *bench) {
    printf("\n%spackets%s of TCP over IPv4: ns each, and million a second\n",
           text_colour(COLOUR_BOLD), text_colour(COLOUR_NONE));
    printf("%s            bytes  compiled      made             compiled      made%s\n",
           text_colour(COLOUR_FAINT), text_colour(COLOUR_NONE));
    for (size_t i = 0; i < JIT_PACKETS; i++) {
        const struct bench_stats *ns = bench->packets[i];
        char text[TEXT_SIZE];
        if (bench->packet_speedups[i] == 0)
            continue;
        printf("  %-8s%7s", jit_packets[i].name, text_count(text, jit_packets[i].size));
        for (size_t way = 0; way < JIT_WAYS; way++)
            printf("%10s", text_measure(text, ns[way].median));
        printf("%11s", text_times(text, bench->packet_speedups[i]));
        for (size_t way = 0; way < JIT_WAYS; way++)
            printf("%10s", fine_measure(text, jit_millions(&ns[way])));
        putchar('\n');
    }
}

/* Returns the title of a function, such as "sum of 1,500". May write it to `text`. */
static const char *function_title(size_t function, char text[2 * TEXT_SIZE]) {
    char number[TEXT_SIZE];
    switch (function) {
    case JIT_FOR_RANGE:
        return "sum of 20 to 1,500";
    case JIT_CHECK:
        return "check";
    case JIT_WRITE:
        return "write";
    default:
        snprintf(text, 2 * TEXT_SIZE, "sum of %s", text_count(number, jit_sizes[function]));
        return text;
    }
}

static void print_making(const struct jit_bench *bench) {
    printf("\n"
           "%sfunctions%s: us to generate and release each, and its bytes\n",
           text_colour(COLOUR_BOLD), text_colour(COLOUR_NONE));
    for (size_t i = 0; i < JIT_FUNCTIONS; i++) {
        char title[2 * TEXT_SIZE], us[TEXT_SIZE], size[TEXT_SIZE];
        if (bench->text_sizes[i])
            printf("  %-20s%10s%10s\n", function_title(i, title),
                   text_measure(us, bench->making[i].median / 1e3),
                   text_count(size, bench->text_sizes[i]));
    }
}

static void print_jit_text(const struct jit_bench *bench) {
    bench_machine_print();
    printf("Medians of %zu rounds\n", bench->rounds);
    for (size_t mode = 0; mode < JIT_MODES; mode++)
        print_jit_sums(bench, mode);
    print_jit_packets(bench);
    print_making(bench);
    bench_noise_print(&bench->noise);
}

/* --- As JSON --- */

static json_t *jit_stats_json(const struct bench_stats *ns) {
    return json_pack("{s:f, s:f, s:f, s:f}", "ns", ns->median, "min", ns->min, "q1", ns->q1, "q3",
                     ns->q3);
}

static json_t *sums_json(const struct jit_bench *bench) {
    json_t *sums = json_array();
    for (size_t mode = 0; mode < JIT_MODES; mode++)
        for (size_t size = 0; size < JIT_SIZES; size++)
            for (size_t sum = 0; sum < JIT_SUMS; sum++) {
                const struct bench_stats *ns = &bench->sums[mode][size][sum];
                json_t *one = jit_stats_json(ns);
                json_object_update_new(
                    one,
                    json_pack("{s:s, s:s, s:I, s:f, s:f, s:f}", "function", sum_names[sum], "mode",
                              modes[mode].name, "size", (json_int_t)jit_sizes[size], "ns_a_byte",
                              ns->median / (double)jit_sizes[size], "million_a_second",
                              jit_millions(ns), "speedup", bench->sum_speedups[mode][size][sum]));
                json_array_append_new(sums, one);
            }
    return sums;
}

static json_t *packets_json(const struct jit_bench *bench) {
    json_t *packets = json_array();
    for (size_t i = 0; i < JIT_PACKETS; i++)
        for (size_t way = 0; way < JIT_WAYS && bench->packet_speedups[i] != 0; way++) {
            json_t *one = jit_stats_json(&bench->packets[i][way]);
            json_object_update_new(
                one, json_pack("{s:s, s:s, s:I, s:f, s:f}", "work", jit_packets[i].name, "way",
                               way_names[way], "size", (json_int_t)jit_packets[i].size,
                               "million_a_second", jit_millions(&bench->packets[i][way]), "speedup",
                               way == JIT_MADE ? bench->packet_speedups[i] : 1.0));
            json_array_append_new(packets, one);
        }
    return packets;
}

static json_t *making_json(const struct jit_bench *bench) {
    json_t *functions = json_array();
    for (size_t i = 0; i < JIT_FUNCTIONS; i++) {
        char title[2 * TEXT_SIZE];
        if (!bench->text_sizes[i])
            continue;
        json_t *one = jit_stats_json(&bench->making[i]);
        json_object_set_new(one, "function", json_string(function_title(i, title)));
        json_object_set_new(one, "bytes", json_integer((json_int_t)bench->text_sizes[i]));
        json_array_append_new(functions, one);
    }
    return functions;
}

static void print_jit_json(const struct jit_bench *bench) {
    json_t *report =
        json_pack("{s:s, s:o, s:b, s:I, s:o, s:s, s:o, s:o, s:o}", "bench", "jit", "machine",
                  bench_machine_json(), "supported", bench->supported, "rounds",
                  (json_int_t)bench->rounds, "noise", bench_noise_json(&bench->noise), "best",
                  bench->best, "sums", bench->supported ? sums_json(bench) : json_array(),
                  "packets", packets_json(bench), "functions", making_json(bench));
    json_print_report(report);
}

int bench_jit(int argc, char **argv) {
    struct bench_options options = {.rounds = 101, .seconds = 10};
    int status;
    if (!bench_options(argc, argv, usage, &options, &status))
        return status;
    struct jit_bench bench = {.rounds = options.rounds, .seconds = options.seconds};
    status = bench_jit_measure(&bench);
    if (status != STATUS_CLEAN)
        return status;
    if (options.json)
        print_jit_json(&bench);
    else if (bench.supported)
        print_jit_text(&bench);
    else
        printf("No functions are generated at run time on %s\n", carry_cpu_arch());
    return STATUS_CLEAN;
}
