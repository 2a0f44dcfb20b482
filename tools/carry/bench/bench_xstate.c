/* SPDX-License-Identifier: MIT */
/* `carry bench xstate`: times thunks and context switches, by the components in use. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>

#include "bench/bench_options.h"
#include "bench/benches.h"
#include "bench/noise.h"
#include "bench/xstate_work.h"
#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"
#include "xstate/names.h"

#define IN_USE_COLUMNS 36
#define TIME_COLUMNS   10 /* more if a name, with two blanks before it, is longer */

static const char *const thunk_names[BENCH_THUNKS] = {"call", "enter", "around", "xsavec"};
static const char *const image_names[1] = {"exp"};
static const char *const switch_names[BENCH_SWITCHES] = {"pair", "switch", "keep", "swapcontext"};

struct report {
    struct xstate_grid thunks, switches, images;
    uint64_t masks[BENCH_XSTATE_ROWS];
    uint64_t named[BENCH_XSTATE_IMAGES];
    size_t rounds;
    struct bench_noise noise;
};

static const char usage[] =
    "Usage: carry bench xstate [OPTION]...\n"
    "\n"
    "Times thunks around a callback in SSE code, and context switches, with different\n"
    "components of extended state in use. Takes five seconds.\n"
    "\n"
    "Columns:\n"
    "  call         the function alone, called through a pointer\n"
    "  enter        carry_thunk_enter: a callback before the function\n"
    "  around       carry_thunk_around: callbacks before and after it\n"
    "  xsavec       a callback before it, between XSAVEC and XRSTOR of all vectors\n"
    "\n"
    "  pair         carry_xstate_save() and carry_xstate_load(), without a switch\n"
    "  switch       carry_context_switch()\n"
    "  keep         the same, between contexts that keep all components\n"
    "  swapcontext  swapcontext() of the C library, which also sets the signal mask\n"
    "\n"
    "  exp          exp() of libm, after a load of an image of zeroes that names\n"
    "               components\n"
    "\n"
    "Options:\n"
    "  --quick       fewer rounds: half a second\n"
    "  -J, --json    print everything measured as a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0 measured, or there is no extended state on this architecture;\n"
    "3 wrong usage, or out of memory.\n"
    "\n"
    "Examples:\n"
    "  carry bench xstate\n"
    "  carry bench xstate --json\n";

/* --- Reports --- */

static int column_width(const char *name) {
    const int width = (int)strlen(name) + 2;
    return width > TIME_COLUMNS ? width : TIME_COLUMNS;
}

static void print_time_grid(const uint64_t *masks, const struct xstate_grid *grid,
                            const char *title, const char *const *names, size_t columns) {
    char buffer[XSTATE_NAMES_SIZE], text[TEXT_SIZE];
    printf("\n%s%-*s%s", text_colour(COLOUR_BOLD), IN_USE_COLUMNS, title, text_colour(COLOUR_NONE));
    for (size_t column = 0; column < columns; column++)
        printf("%s%*s%s", text_colour(COLOUR_FAINT), column_width(names[column]), names[column],
               text_colour(COLOUR_NONE));
    putchar('\n');
    for (size_t row = 0; row < grid->rows; row++) {
        printf("  %-*s", IN_USE_COLUMNS - 2, xstate_names(buffer, masks[row]));
        for (size_t column = 0; column < columns; column++)
            if (column < grid->columns)
                printf("%*s", column_width(names[column]),
                       text_measure(text, grid->ns[row][column]));
            else
                printf("%*s", column_width(names[column]), "-");
        putchar('\n');
    }
}

static void print_xstate_text(const struct report *report) {
    bench_machine_print();
    printf("Medians of %zu rounds, ns each, by what is in use\n", report->rounds);
    print_time_grid(report->masks, &report->thunks, "calls", thunk_names, BENCH_THUNKS);
    print_time_grid(report->masks, &report->switches, "switches", switch_names, BENCH_SWITCHES);
    print_time_grid(report->named, &report->images, "after loading an image that names",
                    image_names, 1);
    bench_noise_print(&report->noise);
}

static json_t *grid_json(const char *key, const uint64_t *masks, const struct xstate_grid *grid,
                         const char *const *names) {
    json_t *rows = json_array();
    for (size_t row = 0; row < grid->rows; row++) {
        json_t *one = json_pack("{s:o}", key, xstate_names_json(masks[row]));
        for (size_t column = 0; column < grid->columns; column++)
            json_object_set_new(one, names[column], json_real(grid->ns[row][column]));
        json_array_append_new(rows, one);
    }
    return rows;
}

static void print_xstate_json(const struct report *report) {
    json_t *all = json_pack("{s:s, s:o, s:b, s:I, s:o}", "bench", "xstate", "machine",
                            bench_machine_json(), "supported", bench_xstate_supported(), "rounds",
                            (json_int_t)report->rounds, "noise", bench_noise_json(&report->noise));
    json_object_set_new(all, "calls_ns",
                        grid_json("in_use", report->masks, &report->thunks, thunk_names));
    json_object_set_new(all, "switches_ns",
                        grid_json("in_use", report->masks, &report->switches, switch_names));
    json_object_set_new(all, "images_ns",
                        grid_json("named", report->named, &report->images, image_names));
    json_print_report(all);
}

static void add_grid_noise(struct report *report) {
    const struct xstate_grid *const grids[] = {&report->thunks, &report->switches, &report->images};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        bench_noise_merge(&report->noise, &grids[i]->noise);
        if (grids[i]->noise.ended_early && grids[i]->rounds < report->rounds)
            report->rounds = grids[i]->rounds;
    }
}

int bench_xstate(int argc, char **argv) {
    struct bench_options options = {.rounds = 101, .seconds = 5};
    struct report report = {0};
    int status;
    if (!bench_options(argc, argv, usage, &options, &status))
        return status;
    const struct xstate_effort effort = {
        .rounds = options.rounds,
        .sample_ns = 1e6,
        .seconds = options.seconds,
        .shows_progress = !options.json,
    };
    report.rounds = options.rounds;
    bench_xstate_masks(report.masks);
    bench_xstate_named(report.named);
    if (!bench_xstate_thunks(&report.thunks, &effort) ||
        !bench_xstate_images(&report.images, &effort) ||
        !bench_xstate_switches(&report.switches, &effort))
        return command_error("out of memory");
    add_grid_noise(&report);
    if (options.json)
        print_xstate_json(&report);
    else if (bench_xstate_supported())
        print_xstate_text(&report);
    else
        printf("There is no extended state on %s\n", carry_cpu_arch());
    return STATUS_CLEAN;
}
