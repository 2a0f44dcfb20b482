/* SPDX-License-Identifier: MIT */
/* Prints the reports of `carry xstate cost`, as tables and as JSON. */
#include <math.h>
#include <stdio.h>

#include <carry/xstate.h>
#include <jansson.h>

#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"
#include "xstate/names.h"
#include "xstate/xstate_cost.h"

#define LABEL_COLUMNS  8
#define EVENT_COLUMNS  38
#define IN_USE_COLUMNS 36
#define TIME_COLUMNS   8
#define FACTOR_COLUMNS 7

/* --- The verdict --- */

/* Returns the largest factor by which dirty uppers slow a function of libm. */
static double worst_of_libm(const struct xstate_cost *cost) {
    double worst = 1;
    for (size_t row = 0; row < cost->libm.rows; row++)
        worst = fmax(worst, xstate_worst(&cost->libm, row));
    return worst;
}

/* Returns whether dirty uppers slow libm or AES. */
static bool has_penalty(const struct xstate_cost *cost) {
    return worst_of_libm(cost) >= XSTATE_PENALTY ||
           (cost->has_aes && xstate_worst(&cost->aes, 0) >= XSTATE_PENALTY);
}

/* --- As text --- */

static void print_time(double ns) {
    char text[TEXT_SIZE];
    printf("%*s", TIME_COLUMNS, ns > 0 ? text_measure(text, ns) : "-");
}

static void print_factor(double factor) {
    const bool is_slow = factor >= XSTATE_PENALTY;
    char text[TEXT_SIZE];
    if (factor < 999.95)
        snprintf(text, sizeof text, "%.1fx", factor);
    else
        text_times(text, factor);
    printf("%s%*s%s", text_colour(is_slow ? COLOUR_RED : COLOUR_NONE), FACTOR_COLUMNS, text,
           text_colour(COLOUR_NONE));
}

/* Prints the times of a row. Each time except the first is followed by its factor. */
static void print_time_row(const struct xstate_grid *grid, size_t row) {
    print_time(grid->ns[row][0]);
    for (size_t column = 1; column < grid->columns; column++) {
        print_time(grid->ns[row][column]);
        print_factor(grid->factor[row][column]);
    }
    putchar('\n');
}

static void print_grid_head(const char *label, const char *const *titles, size_t columns) {
    printf("%s%*s%*s", text_colour(COLOUR_FAINT), LABEL_COLUMNS, label, TIME_COLUMNS, titles[0]);
    for (size_t column = 1; column < columns; column++)
        printf("%*s", TIME_COLUMNS + FACTOR_COLUMNS, titles[column]);
    printf("%s\n", text_colour(COLOUR_NONE));
}

static void print_libm(const struct xstate_cost *cost) {
    static const char *const titles[XSTATE_UPPERS] = {"clean", "YMM dirty", "ZMM dirty"};
    text_print_title("libm, ns a call");
    print_grid_head("", titles, cost->libm.columns);
    for (size_t row = 0; row < cost->libm.rows; row++) {
        printf("%*s", LABEL_COLUMNS, xstate_libm_names[row]);
        print_time_row(&cost->libm, row);
    }
}

static void print_aes(const struct xstate_cost *cost) {
    static const char *const titles[AES_COLUMNS] = {"clean", "YMM dirty", "vzeroupper", "ZMM dirty",
                                                    "vzeroupper"};
    text_print_title("AES-128-CBC in SSE instructions, uppers made dirty before each call, ns");
    if (!cost->has_aes) {
        puts("  this CPU has no AES instructions");
        return;
    }
    print_grid_head("bytes", titles, cost->aes.columns);
    for (size_t row = 0; row < cost->aes.rows; row++) {
        printf("%*zu", LABEL_COLUMNS, xstate_aes_sizes[row]);
        print_time_row(&cost->aes, row);
    }
}

static const char *const upper_titles[XSTATE_UPPERS] = {"clean", "YMM", "ZMM"};

static void print_added(double ns) {
    const double tenths = round(10 * ns);
    printf("%*.1f", TIME_COLUMNS, tenths == 0 ? 0 : tenths / 10); /* avoids -0.0 */
}

static void print_events(const struct xstate_cost *cost) {
    if (!cost->events.rows)
        return;
    text_print_title("Time that dirty uppers add to single instructions, ns");
    printf("%s%*s", text_colour(COLOUR_FAINT), EVENT_COLUMNS + 2, "");
    for (size_t column = XSTATE_YMM; column < cost->events.columns; column++)
        printf("%*s", TIME_COLUMNS, upper_titles[column]);
    printf("%s\n", text_colour(COLOUR_NONE));
    for (size_t row = 0; row < cost->events.rows; row++) {
        printf("  %-*s", EVENT_COLUMNS, xstate_event_summary[row]);
        for (size_t column = XSTATE_YMM; column < cost->events.columns; column++)
            print_added(cost->events.ns[row][column]);
        putchar('\n');
    }
}

/* Prints a grid with a row for each mask of components. */
static void print_by_use(const struct xstate_grid *grid, const uint64_t *masks,
                         const char *const *titles) {
    char names[XSTATE_NAMES_SIZE];
    printf("%s  %-*s", text_colour(COLOUR_FAINT), IN_USE_COLUMNS, "in use");
    for (size_t column = 0; column < grid->columns; column++)
        printf("%*s", TIME_COLUMNS, titles[column]);
    printf("%s\n", text_colour(COLOUR_NONE));
    for (size_t row = 0; row < grid->rows; row++) {
        printf("  %-*s", IN_USE_COLUMNS, xstate_names(names, masks[row]));
        for (size_t column = 0; column < grid->columns; column++)
            print_time(grid->ns[row][column]);
        putchar('\n');
    }
}

static void print_saves(const struct xstate_cost *cost) {
    text_print_title("Saves and loads, by what is in use, ns");
    print_by_use(&cost->saves, cost->save_masks, xstate_op_names);
}

static void print_starts(const struct xstate_cost *cost) {
    text_print_title("Ways to the initial state, ns");
    for (size_t column = 0; column < cost->starts.columns; column++) {
        printf("  %-*s", IN_USE_COLUMNS, xstate_start_summary[column]);
        print_time(cost->starts.ns[0][column]);
        putchar('\n');
    }
}

static void print_sections(const struct xstate_cost *cost) {
    text_print_title("Sections of operating-system kernels, by what the thread has in use, ns");
    print_by_use(&cost->sections, cost->section_masks, xstate_section_names);
    puts("  again: nothing to save; x87: the same, with FNINIT; whole: with the save of\n"
         "  the thread's state, and its load on the way back; nested: interrupts a section");
}

static void print_cost_verdict(const struct xstate_cost *cost) {
    char text[512];
    if (cost->libm.columns == 1) {
        puts("\n"
             "This CPU has no AVX, so it has no upper halves that could be dirty.");
        return;
    }
    double aes = cost->has_aes ? xstate_worst(&cost->aes, 0) : 1;
    if (has_penalty(cost))
        snprintf(text, sizeof text,
                 "This CPU has a penalty: with dirty uppers, libm takes up to %.1f times as long, "
                 "16 bytes of AES %.1f times, until something executes vzeroupper.\n",
                 worst_of_libm(cost), aes);
    else
        snprintf(text, sizeof text,
                 "This CPU has no penalty: with dirty uppers, libm takes at most %.1f times as "
                 "long, 16 bytes of AES %.1f times. They only make context switches save more.\n",
                 worst_of_libm(cost), aes);
    putchar('\n');
    text_wrap(stdout, 0, text);
}

void xstate_cost_print_text(const struct xstate_cost *cost) {
    struct bench_machine machine;
    bench_machine(&machine);
    text_print_field("CPU", machine.cpu);
    text_print_field("System", machine.system);
    print_libm(cost);
    print_aes(cost);
    print_events(cost);
    print_saves(cost);
    print_starts(cost);
    print_sections(cost);
    print_cost_verdict(cost);
}

/* --- As JSON --- */

typedef const char *name_fn(size_t column);

static const char *upper_name(size_t column) {
    return xstate_upper_names[column];
}

static json_t *columns_json(const double *values, size_t first, size_t count, name_fn *name) {
    json_t *object = json_object();
    for (size_t column = first; column < count; column++)
        json_object_set_new(object, name(column), json_real(values[column]));
    return object;
}

static json_t *factors_json(const struct xstate_grid *grid, const char *key, json_t *value,
                            size_t row, name_fn *name) {
    return json_pack("{s:o, s:o, s:o}", key, value, "ns",
                     columns_json(grid->ns[row], 0, grid->columns, name), "factor",
                     columns_json(grid->factor[row], 1, grid->columns, name));
}

static json_t *libm_json(const struct xstate_cost *cost) {
    json_t *list = json_array();
    for (size_t row = 0; row < cost->libm.rows; row++)
        json_array_append_new(list,
                              factors_json(&cost->libm, "function",
                                           json_string(xstate_libm_names[row]), row, upper_name));
    return list;
}

static json_t *aes_json(const struct xstate_cost *cost) {
    if (!cost->has_aes)
        return json_null();
    json_t *list = json_array();
    for (size_t row = 0; row < cost->aes.rows; row++)
        json_array_append_new(list, factors_json(&cost->aes, "bytes",
                                                 json_integer((json_int_t)xstate_aes_sizes[row]),
                                                 row, xstate_aes_column));
    return list;
}

static json_t *events_json(const struct xstate_cost *cost) {
    json_t *list = json_array();
    for (size_t row = 0; row < cost->events.rows; row++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "event", xstate_event_names[row],
                                              "description", xstate_event_summary[row], "added_ns",
                                              columns_json(cost->events.ns[row], XSTATE_YMM,
                                                           cost->events.columns, upper_name)));
    return list;
}

/* Returns a row of the times of saves, without instructions that this CPU lacks. */
static json_t *save_json(const struct xstate_cost *cost, size_t row) {
    json_t *ns = json_object();
    for (enum xstate_op op = 0; op < XSTATE_OPS; op++)
        if (xstate_has_op(op))
            json_object_set_new(ns, xstate_op_names[op], json_real(cost->saves.ns[row][op]));
    return json_pack("{s:o, s:o}", "in_use", xstate_names_json(cost->save_masks[row]), "ns", ns);
}

static json_t *saves_json(const struct xstate_cost *cost) {
    json_t *list = json_array();
    for (size_t row = 0; row < cost->saves.rows; row++)
        json_array_append_new(list, save_json(cost, row));
    return list;
}

static const char *start_name(size_t column) {
    return xstate_start_names[column];
}

static const char *section_name(size_t column) {
    return xstate_section_names[column];
}

static json_t *sections_json(const struct xstate_cost *cost) {
    json_t *list = json_array();
    for (size_t row = 0; row < cost->sections.rows; row++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "in_use",
                                              xstate_names_json(cost->section_masks[row]), "ns",
                                              columns_json(cost->sections.ns[row], 0,
                                                           cost->sections.columns, section_name)));
    return list;
}

void xstate_cost_print_json(const struct xstate_cost *cost) {
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:b}", "machine", bench_machine_json(),
                  "libm", libm_json(cost), "aes_128_cbc", aes_json(cost), "transitions",
                  events_json(cost), "saves", saves_json(cost), "initial",
                  columns_json(cost->starts.ns[0], 0, cost->starts.columns, start_name), "sections",
                  sections_json(cost), "worst", worst_of_libm(cost), "penalty", has_penalty(cost));
    json_print_report(object);
}
