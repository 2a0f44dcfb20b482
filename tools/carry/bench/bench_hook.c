/* SPDX-License-Identifier: MIT */
/* `carry bench hook`: times hooked calls, and hooking itself. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/cpu.h>
#include <carry/hook.h>
#include <carry/thunk.h>

#include "bench/bench_options.h"
#include "bench/benches.h"
#include "bench/noise.h"
#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/measure.h"
#include "common/start.h"
#include "common/text.h"

#define SAMPLE_NS 1e6

/* The most nanoseconds that a hook should add to a call: a target, which is only printed. */
#define MOST_NS 20

enum place { PLACE_CALL, PLACE_ENTRY, PLACES };
enum state { STATE_NONE, STATE_ENTER, STATE_LEAVE, STATE_BOTH, STATES };

static const char *const place_names[PLACES] = {"call", "entry"};
static const struct {
    const char *name, *title;
} states[STATES] = {
    [STATE_NONE] = {"none", "no hook"},
    [STATE_ENTER] = {"enter", "enter"},
    [STATE_LEAVE] = {"leave", "leave"},
    [STATE_BOTH] = {"both", "enter and leave"},
};

struct hook_bench {
    struct bench_stats ns[STATES][PLACES];
    struct bench_stats all; /* attaching to all calls of this process, and detaching */
    size_t all_count;
    size_t rounds;
    struct bench_noise noise;
};

static const char usage[] =
    "Usage: carry bench hook [OPTION]...\n"
    "\n"
    "Times calls of a C library function through the PLT, and of a function with a\n"
    "patchable entry: without a hook, and with empty callbacks before the call, after\n"
    "it, or both. Then hooks all calls of this process at once. Takes two seconds.\n"
    "\n"
    "  --quick       fewer rounds: a quarter of a second\n"
    "  -J, --json    print everything measured as a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0 measured, or there are no hooks on this architecture; 1 a call\n"
    "could not be hooked; 3 wrong usage, or out of memory.\n"
    "\n"
    "Examples:\n"
    "  carry bench hook\n"
    "  carry bench hook --json\n";

/* --- Timed calls --- */

/* Keeps compilers from analysing the function. Otherwise, its callers would rely on registers that
 * the function happens to preserve. */
#ifdef __clang__
#define NO_IPA noinline
#else
#define NO_IPA noipa
#endif
#if CARRY_HAS_THUNKS
#define PATCHABLE __attribute__((NO_IPA, patchable_function_entry(5)))
#else
#define PATCHABLE __attribute__((NO_IPA))
#endif

PATCHABLE static size_t own_length(const char *text) {
    __asm__ volatile("");
    return *text != 0;
}

static uint32_t run_calls(const void *context, size_t cell, size_t subject, size_t first,
                          size_t calls) {
    const char *text = "";
    size_t sum = 0;
    (void)context, (void)cell, (void)first;
    for (size_t i = 0; i < calls; i++) {
        __asm__ volatile("" : "+r"(text)); /* keeps the compiler from calling only once */
        sum += subject == PLACE_CALL ? strlen(text) : own_length(text);
    }
    return (uint32_t)sum;
}

static void ignore_call(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call, (void)user;
}

static uint32_t run_all(const void *context, size_t cell, size_t subject, size_t first,
                        size_t calls) {
    size_t *count = *(size_t *const *)context;
    (void)cell, (void)subject, (void)first;
    for (size_t i = 0; i < calls; i++) {
        struct carry_hook hook = {.enter = ignore_call};
        carry_hook_attach_calls(&hook);
        *count = hook.attached;
        carry_hook_detach(&hook);
    }
    return (uint32_t)*count;
}

static size_t as_many_as_fit(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 0;
}

static void no_progress(size_t done, size_t total) {
    (void)done, (void)total;
}

/* --- Measuring --- */

static bool measure_plan(struct hook_bench *bench, struct bench_plan plan,
                         struct bench_stats *stats) {
    const size_t rounds = plan.rounds;
    double *samples = bench_measure(&plan);
    if (!samples)
        return false;
    for (size_t i = 0; i < plan.subjects; i++)
        stats[i] = bench_stats(bench_samples(&plan, samples, 0, i), plan.rounds);
    bench_noise_add_plan(&bench->noise, &plan, rounds, samples);
    bench->rounds = plan.rounds < bench->rounds ? plan.rounds : bench->rounds;
    free(samples);
    return true;
}

static int attach_hooks(struct carry_hook hooks[PLACES], enum state state) {
    if (state == STATE_NONE)
        return CARRY_OK;
    for (size_t i = 0; i < PLACES; i++)
        hooks[i] = (struct carry_hook){
            .object = "",
            .symbol = "strlen",
            .enter = state == STATE_LEAVE ? NULL : ignore_call,
            .leave = state == STATE_ENTER ? NULL : ignore_call,
        };
    int error = carry_hook_attach_calls(&hooks[PLACE_CALL]);
    return error ? error : carry_hook_attach_entry(&hooks[PLACE_ENTRY], (void (*)(void))own_length);
}

static int attach_failed(int error) {
    if (start_is_static)
        return command_error("cannot hook a function: this carry is static, without other objects");
    command_error("cannot hook a function: %s", carry_error_text(error));
    return STATUS_BAD;
}

static int measure_state(struct hook_bench *bench, const struct bench_plan *plan,
                         enum state state) {
    struct carry_hook hooks[PLACES] = {0};
    int error = attach_hooks(hooks, state);
    int status = STATUS_CLEAN;
    if (error)
        status = attach_failed(error);
    else if (!measure_plan(bench, *plan, bench->ns[state]))
        status = command_error("out of memory");
    for (size_t i = 0; i < PLACES; i++)
        carry_hook_detach(&hooks[i]);
    return status;
}

static int measure_states(struct hook_bench *bench, const struct bench_options *options) {
    const size_t *count = &bench->all_count;
    struct bench_plan plan = {
        .cells = 1,
        .subjects = PLACES,
        .rounds = options->rounds,
        .sample_ns = SAMPLE_NS,
        .seconds = options->seconds,
        .run = run_calls,
        .fixed_calls = as_many_as_fit,
        .context = &count,
        .progress = no_progress,
    };
    int status = STATUS_CLEAN;
    bench->rounds = options->rounds;
    for (size_t state = 0; state < STATES && status == STATUS_CLEAN; state++)
        status = measure_state(bench, &plan, (enum state)state);
    plan.subjects = 1;
    plan.run = run_all;
    if (status == STATUS_CLEAN && !measure_plan(bench, plan, &bench->all))
        status = command_error("out of memory");
    return status;
}

/* --- Reports --- */

/* Returns the nanoseconds that a hook adds to a call; a difference below zero is noise. */
static double added_by_hook(const struct hook_bench *bench, size_t state, size_t place) {
    return fmax(0, bench->ns[state][place].median - bench->ns[STATE_NONE][place].median);
}

static void print_cell(const struct hook_bench *bench, size_t state, size_t place) {
    char text[TEXT_SIZE];
    printf("%*s", place && !state ? 18 : 10, text_measure(text, bench->ns[state][place].median));
    if (state != STATE_NONE)
        printf("%8s", text_added(text, added_by_hook(bench, state, place)));
}

static void print_all_calls(const struct hook_bench *bench) {
    char us[TEXT_SIZE], ns[TEXT_SIZE];
    if (!bench->all_count)
        return;
    printf("\n%sall %zu calls of this process%s, hooked and freed: %s us, %s ns a call\n",
           text_colour(COLOUR_BOLD), bench->all_count, text_colour(COLOUR_NONE),
           text_measure(us, bench->all.median / 1e3),
           text_measure(ns, bench->all.median / (double)bench->all_count));
}

static void print_hook_text(const struct hook_bench *bench) {
    bench_machine_print();
    printf("Medians of %zu rounds\n", bench->rounds);
    printf("\n"
           "%scalls%s: ns each, and what the hook adds (target: at most %d)\n",
           text_colour(COLOUR_BOLD), text_colour(COLOUR_NONE), MOST_NS);
    printf("%s%-20s%18s%18s%s\n", text_colour(COLOUR_FAINT), "", "call through the PLT",
           "patchable entry", text_colour(COLOUR_NONE));
    for (size_t state = 0; state < STATES; state++) {
        printf("  %-18s", states[state].title);
        for (size_t place = 0; place < PLACES; place++)
            print_cell(bench, state, place);
        putchar('\n');
    }
    print_all_calls(bench);
    bench_noise_print(&bench->noise);
}

static json_t *hook_stats_json(const struct bench_stats *ns) {
    return json_pack("{s:f, s:f, s:f, s:f}", "ns", ns->median, "min", ns->min, "q1", ns->q1, "q3",
                     ns->q3);
}

static void print_hook_json(const struct hook_bench *bench, bool supported) {
    json_t *cases = json_array();
    for (size_t state = 0; state < STATES && supported; state++)
        for (size_t place = 0; place < PLACES; place++) {
            json_t *one = hook_stats_json(&bench->ns[state][place]);
            json_object_set_new(one, "place", json_string(place_names[place]));
            json_object_set_new(one, "hook", json_string(states[state].name));
            json_object_set_new(one, "added_ns", json_real(added_by_hook(bench, state, place)));
            json_array_append_new(cases, one);
        }
    json_t *all = supported ? hook_stats_json(&bench->all) : json_null();
    if (supported)
        json_object_set_new(all, "calls", json_integer((json_int_t)bench->all_count));
    json_t *report =
        json_pack("{s:s, s:o, s:b, s:I, s:o, s:o, s:o}", "bench", "hook", "machine",
                  bench_machine_json(), "hooks", supported, "rounds", (json_int_t)bench->rounds,
                  "noise", bench_noise_json(&bench->noise), "cases", cases, "all", all);
    json_print_report(report);
}

int bench_hook(int argc, char **argv) {
    struct bench_options options = {.rounds = 101, .seconds = 1.5};
    struct hook_bench bench = {0};
    int status;
    if (!bench_options(argc, argv, usage, &options, &status))
        return status;
    int error = carry_hook_register(__start___patchable_function_entries,
                                    __stop___patchable_function_entries);
    bool supported = error != CARRY_ERROR_UNSUPPORTED;
    if (supported)
        status = measure_states(&bench, &options);
    if (status != STATUS_CLEAN)
        return status;
    if (options.json)
        print_hook_json(&bench, supported);
    else if (supported)
        print_hook_text(&bench);
    else
        printf("There are no hooks on %s\n", carry_cpu_arch());
    return STATUS_CLEAN;
}
