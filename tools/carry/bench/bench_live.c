/* SPDX-License-Identifier: MIT */
/* `carry bench live`: finds the highest rate at which carry live, and tcpdump, drop no packet. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/benches.h"
#include "bench/live_run.h"
#include "bench/noise.h"
#include "common/clock.h"
#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/text.h"

#define SECONDS       1.0
#define QUICK_SECONDS 0.1
#define SEARCHES_MOST 90 /* trials that fit into the time limit: a quiet machine needs a third */
#define STEPS         6  /* of the search for the highest rate; each halves the range */

static const char usage[] =
    "Usage: carry bench live [OPTION]...\n"
    "\n"
    "Sends packets from one interface to another, in a network namespace of its own,\n"
    "and has carry live and tcpdump -w /dev/null watch the other end, one after the\n"
    "other. For two sizes of packets, it searches the highest rate at which each\n"
    "drops none, and measures both at the rate of tcpdump. Takes half a minute.\n"
    "\n"
    "      --quick  a tenth of the time\n"
    "  -J, --json   print everything measured as a JSON object\n"
    "  -h, --help   print this help\n"
    "\n"
    "Exit status: 0 measured; 1 carry live dropped packets at the rate of tcpdump;\n"
    "3 wrong usage, or no network namespace or interfaces available.\n"
    "\n"
    "Examples:\n"
    "  carry bench live\n"
    "  carry bench live --quick --json\n";

static const struct program {
    const char *title, *ready;
    const char *command[12];
} programs[] = {
    {"tcpdump", "listening on", {"tcpdump", "-Z", "root", "-i", LIVE_RUN_END, "-w", "/dev/null"}},
    {"carry live", "watching", {"carry", "live", "-J", LIVE_RUN_END}},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

enum { TCPDUMP, CARRY };

static const uint32_t sizes[] = {60, 1514};
#define SIZES (sizeof sizes / sizeof *sizes)

struct result {
    struct live_outcome highest; /* the fastest trial without a drop */
    struct live_outcome common;  /* at tcpdump's highest rate, or at carry's without tcpdump */
};

struct bench {
    double seconds;
    int64_t until; /* clock_ns() at which searches end */
    struct bench_noise noise;
    struct result results[SIZES][PROGRAMS];
};

/* Runs one trial. A sender that waits for a CPU sends too few packets, so the share of time that it
 * waits counts as noise. */
static struct live_outcome run_live_trial(struct bench *bench, const struct program *program,
                                          uint32_t size, uint64_t rate) {
    const struct live_trial trial = {.size = size, .rate = rate, .seconds = bench->seconds};
    const struct live_outcome outcome = live_run(program->command, program->ready, &trial);
    if (outcome.state == LIVE_MEASURED)
        bench_noise_add_share(&bench->noise, fmax(0, 1 - outcome.busy));
    return outcome;
}

/* Finds the highest rate without a drop: tries full speed, then halves the range below it. */
static struct live_outcome find_highest_rate(struct bench *bench, const struct program *program,
                                             uint32_t size) {
    struct live_outcome trial = run_live_trial(bench, program, size, LIVE_RUN_FASTEST);
    struct live_outcome best = {.state = trial.state};
    double low = 0, high = trial.rate;
    if (trial.state != LIVE_MEASURED || !trial.dropped)
        return trial;
    for (unsigned step = 0; step < STEPS; step++) {
        bench->noise.ended_early |= clock_ns() > bench->until;
        if (bench->noise.ended_early)
            break;
        trial = run_live_trial(bench, program, size, (uint64_t)((low + high) / 2));
        if (trial.state == LIVE_MEASURED && !trial.dropped) {
            low = (low + high) / 2;
            best = trial;
        } else {
            high = (low + high) / 2;
        }
    }
    return best;
}

static void measure_all_sizes(struct bench *bench) {
    bench->until = clock_ns() + (int64_t)(SEARCHES_MOST * bench->seconds * CLOCK_SECOND);
    for (size_t size = 0; size < SIZES; size++) {
        struct result *results = bench->results[size];
        for (size_t i = 0; i < PROGRAMS; i++)
            results[i].highest = find_highest_rate(bench, &programs[i], sizes[size]);
        const size_t model = results[TCPDUMP].highest.state == LIVE_MEASURED ? TCPDUMP : CARRY;
        const uint64_t rate = (uint64_t)results[model].highest.rate;
        for (size_t i = 0; i < PROGRAMS; i++)
            results[i].common = run_live_trial(bench, &programs[i], sizes[size], rate);
    }
}

/* --- Reports --- */

static double microseconds(const struct live_outcome *outcome) {
    return outcome->sent ? outcome->cpu_seconds * 1e6 / (double)outcome->sent : 0;
}

static void print_program_row(const struct program *program, const struct result *result) {
    char highest[TEXT_SIZE], rate[TEXT_SIZE], cpu[TEXT_SIZE], dropped[TEXT_SIZE], peak[TEXT_SIZE];
    if (result->common.state != LIVE_MEASURED) {
        printf("    %-12s %s\n", program->title,
               result->common.state == LIVE_MISSING ? "not installed" : "failed");
        return;
    }
    printf("    %-12s %11s %11s %11s %9s %12s\n", program->title,
           text_measure(highest, result->highest.rate), text_measure(rate, result->common.rate),
           text_measure(cpu, microseconds(&result->common)),
           text_count(dropped, result->common.dropped),
           text_bytes(peak, result->common.peak_bytes));
}

static void print_live_text(const struct bench *bench) {
    struct bench_machine machine;
    bench_machine(&machine);
    printf("%s%s%s, %ld cores\n\n", text_colour(COLOUR_BOLD), machine.cpu, text_colour(COLOUR_NONE),
           sysconf(_SC_NPROCESSORS_ONLN));
    printf("    %-12s %11s %35s\n", "", "no drop up", "at the rate that tcpdump takes");
    printf("    %-12s %11s %11s %11s %9s %12s\n", "", "to, per s", "per s", "us a packet",
           "dropped", "peak memory");
    for (size_t size = 0; size < SIZES; size++) {
        printf("  packets of %u bytes\n", sizes[size]);
        for (size_t i = 0; i < PROGRAMS; i++)
            print_program_row(&programs[i], &bench->results[size][i]);
    }
    bench_noise_print(&bench->noise);
}

static json_t *number_or_null(const struct live_outcome *outcome, json_t *number) {
    if (outcome->state == LIVE_MEASURED)
        return number;
    json_decref(number);
    return json_null();
}

static json_t *program_json(uint32_t size, const struct program *program,
                            const struct result *result) {
    const struct live_outcome *common = &result->common;
    json_t *object =
        json_pack("{s:s, s:I}", "program", program->title, "packet_bytes", (json_int_t)size);
    json_object_set_new(object, "highest_per_s",
                        number_or_null(&result->highest, json_real(result->highest.rate)));
    json_object_set_new(object, "per_s", number_or_null(common, json_real(common->rate)));
    json_object_set_new(object, "cpu_us", number_or_null(common, json_real(microseconds(common))));
    json_object_set_new(object, "dropped", number_or_null(common, json_number(common->dropped)));
    json_object_set_new(object, "peak_bytes",
                        number_or_null(common, json_number(common->peak_bytes)));
    return object;
}

static void print_live_json(const struct bench *bench) {
    json_t *rows = json_array();
    for (size_t size = 0; size < SIZES; size++)
        for (size_t i = 0; i < PROGRAMS; i++)
            json_array_append_new(
                rows, program_json(sizes[size], &programs[i], &bench->results[size][i]));
    json_print_report(json_pack("{s:s, s:o, s:I, s:o, s:o}", "bench", "live", "machine",
                                bench_machine_json(), "cores",
                                (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "noise",
                                bench_noise_json(&bench->noise), "programs", rows));
}

/* Returns whether carry live failed, or dropped packets at a rate at which tcpdump drops none. */
static bool has_carry_lost(const struct bench *bench) {
    for (size_t size = 0; size < SIZES; size++) {
        const struct live_outcome *own = &bench->results[size][CARRY].common;
        const struct live_outcome *other = &bench->results[size][TCPDUMP].common;
        if (own->state != LIVE_MEASURED ||
            (own->dropped && other->state == LIVE_MEASURED && !other->dropped))
            return true;
    }
    return false;
}

int bench_live(int argc, char **argv) {
    struct bench bench = {.seconds = SECONDS};
    bool quick = false, json = false;
    const struct option_row rows[] = {
        {"quick", .flag = &quick},
        {"json", 'J', .flag = &json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    if (quick)
        bench.seconds = QUICK_SECONDS;
    fflush(stdout);
    if (!live_run_begin())
        return STATUS_ERROR;
    measure_all_sizes(&bench);
    if (json)
        print_live_json(&bench);
    else
        print_live_text(&bench);
    return has_carry_lost(&bench) ? STATUS_BAD : STATUS_CLEAN;
}
