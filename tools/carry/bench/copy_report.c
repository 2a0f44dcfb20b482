/* SPDX-License-Identifier: MIT */
/* Prints the reports of `carry bench copy`, as tables and as JSON. */
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>
#include <jansson.h>

#include "bench/bench_copy.h"
#include "bench/noise.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"

#define LABEL_COLUMNS  8
#define VALUE_COLUMNS  8
#define RATIO_COLUMNS  7
#define NAME_COLUMNS   10
#define BEST_COLUMNS   9
#define LOSS_TOLERATED 0.03

static void print_label(const struct copy_cell *cell) {
    char text[TEXT_SIZE];
    if (cell->size && cell->size % ((size_t)1 << 20) == 0)
        snprintf(text, sizeof text, "%zu MiB", cell->size >> 20);
    else
        snprintf(text, sizeof text, "%zu", cell->size);
    const char *varies = cell->mode == COPY_BESIDE ? "imix" : "0 to 64";
    printf("%*s", LABEL_COLUMNS, cell->size ? text : varies);
}

static void print_value(const struct copy_set *set, size_t cell, size_t subject, int columns) {
    char text[TEXT_SIZE];
    printf("%*s", columns, text_measure(text, copy_stats(set, cell, subject).median));
}

static void print_ratio(const struct copy_set *set, size_t cell, size_t subject, size_t base) {
    char text[TEXT_SIZE];
    printf("%*s", RATIO_COLUMNS, text_times(text, copy_ratio(set, cell, subject, base)));
}

/* The cells of one table: the cells of a mode at one pair of alignments. */
struct selection {
    const struct copy_set *set;
    enum copy_mode mode;
    struct copy_alignment align;
};

static bool is_copy_selected(struct selection selection, const struct copy_cell *cell) {
    return cell->mode == selection.mode && cell->align.source == selection.align.source &&
           cell->align.target == selection.align.target;
}

/* Returns the first cell of a table from `index` on, or the number of all cells. */
static size_t next_cell(struct selection selection, size_t index) {
    while (index < selection.set->cell_count &&
           !is_copy_selected(selection, &selection.set->cells[index]))
        index++;
    return index;
}

static void print_copy_title(enum copy_mode mode) {
    printf("\n%s%s%s: %s; %s\n", text_colour(COLOUR_BOLD), copy_modes[mode].name,
           text_colour(COLOUR_NONE), copy_modes[mode].title, mode == COPY_PIPE ? "MB/s" : "ns");
}

static void begin_header(const char *first) {
    printf("%s%*s", text_colour(COLOUR_FAINT), LABEL_COLUMNS, first);
}

static void end_header(void) {
    printf("%s\n", text_colour(COLOUR_NONE));
}

/* --- The kernels --- */

static int name_columns(const struct copy_subject *subject, int least) {
    int columns = (int)strlen(subject->name) + 2;
    return columns > least ? columns : least;
}

/* Prints subjects `first` to `last - 1`, and the time of the chosen kernel as a multiple of the
 * time of memcpy or `rep`, whichever is faster. */
static void print_some_kernels(const struct copy_bench *bench, struct selection table, size_t first,
                               size_t last) {
    const struct copy_subject *subjects = bench->memory.subjects;
    char text[TEXT_SIZE];
    begin_header("bytes");
    for (size_t i = first; i < last; i++)
        printf("%*s", name_columns(&subjects[i], VALUE_COLUMNS), subjects[i].name);
    printf("%*s", BEST_COLUMNS, "of best");
    end_header();
    for (size_t i = next_cell(table, 0); i < table.set->cell_count; i = next_cell(table, i + 1)) {
        print_label(&table.set->cells[i]);
        for (size_t j = first; j < last; j++)
            print_value(table.set, i, j, name_columns(&subjects[j], VALUE_COLUMNS));
        printf("%*s\n", BEST_COLUMNS,
               text_measure(text, copy_ratio(table.set, i, bench->focus, copy_best(bench, i))));
    }
}

/* Prints all kernels, in tables that are not wider than a line. */
static void print_kernels(const struct copy_bench *bench, struct selection table) {
    int widths[COPY_SUBJECTS];
    for (size_t i = 0; i < bench->kernels_end; i++)
        widths[i] = name_columns(&bench->memory.subjects[i], VALUE_COLUMNS);
    for (size_t first = 0, last; first < bench->kernels_end; first = last) {
        last = first + text_fitting(widths + first, bench->kernels_end - first,
                                    LABEL_COLUMNS + BEST_COLUMNS);
        printf("%s", first ? "\n" : "");
        print_some_kernels(bench, table, first, last);
    }
}

/* --- The functions that use kernels --- */

static void print_copy_functions(const struct copy_bench *bench, struct selection table) {
    const struct {
        size_t subject, base;
    } columns[] = {
        {bench->copy_try, bench->copy},    {bench->sum_copy, bench->memcpy},
        {bench->sum_try, bench->sum_copy}, {bench->sum_then_copy, SIZE_MAX},
        {bench->stream, SIZE_MAX},         {bench->readv, SIZE_MAX},
    };
    const size_t count = sizeof columns / sizeof *columns - (bench->readv == COPY_SUBJECTS);
    begin_header("bytes");
    for (size_t i = 0; i < count; i++)
        printf("%*s%*s", VALUE_COLUMNS, table.set->subjects[columns[i].subject].name,
               columns[i].base == SIZE_MAX ? 0 : RATIO_COLUMNS, "");
    end_header();
    for (size_t i = next_cell(table, 0); i < table.set->cell_count; i = next_cell(table, i + 1)) {
        print_label(&table.set->cells[i]);
        for (size_t j = 0; j < count; j++) {
            print_value(table.set, i, columns[j].subject, VALUE_COLUMNS);
            if (columns[j].base != SIZE_MAX)
                print_ratio(table.set, i, columns[j].subject, columns[j].base);
        }
        putchar('\n');
    }
}

/* --- Sizes down, pairs of alignments across --- */

/* Prints the time of a subject in a cell, and its ratio to the time of another subject. */
typedef void print_pair_fn(const struct copy_bench *bench, const struct copy_set *set, size_t cell);

static void print_copy_of_best(const struct copy_bench *bench, const struct copy_set *set,
                               size_t cell) {
    print_value(set, cell, bench->focus, VALUE_COLUMNS + 2);
    print_ratio(set, cell, bench->focus, copy_best(bench, cell));
}

static void print_sum_of_memcpy(const struct copy_bench *bench, const struct copy_set *set,
                                size_t cell) {
    print_value(set, cell, bench->sum_copy, VALUE_COLUMNS + 2);
    print_ratio(set, cell, bench->sum_copy, bench->memcpy);
}

static void print_move_of_memmove(const struct copy_bench *bench, const struct copy_set *set,
                                  size_t cell) {
    (void)bench;
    print_value(set, cell, 1, VALUE_COLUMNS + 2);
    print_ratio(set, cell, 1, 0);
}

struct across {
    const struct copy_set *set;
    enum copy_mode mode;
    const struct copy_alignment *aligns;
    size_t count;
};

static struct selection table_of(const struct across *across, size_t column) {
    return (struct selection){across->set, across->mode, across->aligns[column]};
}

static void print_across(const struct copy_bench *bench, const struct across *across,
                         print_pair_fn *print_pair) {
    size_t cells[COPY_ALIGNMENTS + COPY_OVERLAPS];
    char text[TEXT_SIZE];
    begin_header("bytes");
    for (size_t i = 0; i < across->count; i++) {
        snprintf(text, sizeof text, "%u to %u", across->aligns[i].source, across->aligns[i].target);
        printf("%*s", VALUE_COLUMNS + 2 + RATIO_COLUMNS, text);
        cells[i] = next_cell(table_of(across, i), 0);
    }
    end_header();
    while (cells[0] < across->set->cell_count) {
        print_label(&across->set->cells[cells[0]]);
        for (size_t i = 0; i < across->count; i++) {
            print_pair(bench, across->set, cells[i]);
            cells[i] = next_cell(table_of(across, i), cells[i] + 1);
        }
        putchar('\n');
    }
}

/* --- The tables of each mode --- */

static bool has_no_cells(struct selection table) {
    return next_cell(table, 0) == table.set->cell_count;
}

static void print_sized(const struct copy_bench *bench, enum copy_mode mode) {
    const struct across all = {&bench->memory, mode, copy_alignments, COPY_ALIGNMENTS};
    const struct selection table = table_of(&all, 0);
    if (has_no_cells(table))
        return;
    print_copy_title(mode);
    print_kernels(bench, table);
    putchar('\n');
    print_copy_functions(bench, table);
    printf("\n"
           "  %s, of best, by where source and target start in a page:\n",
           bench->memory.subjects[bench->focus].name);
    print_across(bench, &all, print_copy_of_best);
    puts("\n  sum_copy, of memcpy:");
    print_across(bench, &all, print_sum_of_memcpy);
}

static void print_mixed(const struct copy_bench *bench) {
    const struct selection table = {&bench->memory, COPY_MIXED, {0, 0}};
    if (has_no_cells(table))
        return;
    print_copy_title(COPY_MIXED);
    print_kernels(bench, table);
    putchar('\n');
    print_copy_functions(bench, table);
}

/* Prints subjects `first` to `last - 1`: the time of a turn, and what the subject adds to it. */
static void print_turns(const struct copy_set *set, size_t first, size_t last) {
    char text[TEXT_SIZE];
    begin_header("bytes");
    for (size_t i = first; i < last; i++)
        printf("%*s%*s", name_columns(&set->subjects[i], NAME_COLUMNS), set->subjects[i].name,
               VALUE_COLUMNS, "");
    end_header();
    for (size_t cell = 0; cell < set->cell_count; cell++) {
        print_label(&set->cells[cell]);
        for (size_t i = first; i < last; i++) {
            print_value(set, cell, i, name_columns(&set->subjects[i], NAME_COLUMNS));
            printf("%*s", VALUE_COLUMNS, text_added(text, copy_added(set, cell, i)));
        }
        putchar('\n');
    }
}

static void print_beside(const struct copy_bench *bench) {
    const struct copy_set *set = &bench->beside;
    int widths[COPY_SUBJECTS];
    if (!set->cell_count)
        return;
    for (size_t i = 0; i < set->subject_count; i++)
        widths[i] = name_columns(&set->subjects[i], NAME_COLUMNS) + VALUE_COLUMNS;
    print_copy_title(COPY_BESIDE);
    puts("  Time of a turn, and how much of it the copy adds to the work alone:");
    for (size_t first = 0, last; first < set->subject_count; first = last) {
        last = first + text_fitting(widths + first, set->subject_count - first, LABEL_COLUMNS);
        printf("%s", first ? "\n" : "");
        print_turns(set, first, last);
    }
}

static void print_moves(const struct copy_bench *bench) {
    const struct across all = {&bench->move, COPY_MOVE, copy_overlaps, COPY_OVERLAPS};
    if (has_no_cells(table_of(&all, 0)))
        return;
    print_copy_title(COPY_MOVE);
    puts("  carry_copy_move(), of memmove, by where source and target start in a page:");
    print_across(bench, &all, print_move_of_memmove);
}

/* --- Throughput --- */

#define WORK_COLUMNS  12
#define WAY_COLUMNS   14
#define BASES_COLUMNS 16

/* Prints the throughput of a subject as a multiple of the throughput of `base`; "-" without a
 * base. */
static void print_times_base(const struct copy_set *set, size_t cell, size_t subject, size_t base) {
    char text[TEXT_SIZE] = "-";
    if (base < set->subject_count)
        text_times(text, copy_ratio(set, cell, base, subject));
    printf("%*s", BASES_COLUMNS, text);
}

static void print_rate(const struct copy_set *set, const char *work, size_t cell, size_t subject,
                       size_t splice) {
    const struct copy_rate rate = copy_rate(set, cell, subject);
    char text[TEXT_SIZE];
    printf("  %-*s%-*s", WORK_COLUMNS, subject ? "" : work, WAY_COLUMNS,
           set->subjects[subject].name);
    printf("%*s", VALUE_COLUMNS, text_measure(text, rate.mb));
    printf("  +-%*s", RATIO_COLUMNS - 1, text_percent(text, rate.spread));
    print_times_base(set, cell, subject, 0);
    print_times_base(set, cell, subject, splice);
    putchar('\n');
}

static void print_pipe(const struct copy_bench *bench) {
    if (!bench->pipe.cell_count)
        return;
    print_copy_title(COPY_PIPE);
    printf("%s  %-*s%-*s%*s%*s%*s%*s", text_colour(COLOUR_FAINT), WORK_COLUMNS, "", WAY_COLUMNS, "",
           VALUE_COLUMNS, "MB/s", RATIO_COLUMNS + 3, "spread", BASES_COLUMNS, "of read, write",
           BASES_COLUMNS, "of splice");
    end_header();
    for (size_t work = 0; work < FLOW_WORKS; work++)
        for (size_t way = 0; way < bench->flow.subject_count; way++)
            print_rate(&bench->flow, flow_works[work], work, way, FLOW_SPLICE);
    for (size_t i = 0; i < bench->pipe.subject_count; i++)
        print_rate(&bench->pipe, "one thread", 0, i, SIZE_MAX);
}

/* --- Losses --- */

static void print_copy_loss(const struct copy_cell *cell, double loss) {
    char text[TEXT_SIZE];
    print_label(cell);
    printf("  %s", copy_modes[cell->mode].name);
    if (cell->size)
        printf(" from %u to %u", cell->align.source, cell->align.target);
    printf(": by %s\n", text_percent(text, loss));
}

static void print_copy_losses(const struct copy_bench *bench) {
    const struct copy_set *set = &bench->memory;
    bool any = false;
    printf("\n"
           "%s is slower than the faster of memcpy and rep\n"
           "by more than %.0f%%:",
           set->subjects[bench->focus].name, 100 * LOSS_TOLERATED);
    for (size_t i = 0; i < set->cell_count; i++) {
        double loss = copy_ratio(set, i, bench->focus, copy_best(bench, i)) - 1;
        if (loss <= LOSS_TOLERATED)
            continue;
        printf("%s", any ? "" : "\n");
        print_copy_loss(&set->cells[i], loss);
        any = true;
    }
    printf("%s", any ? "" : " nowhere\n");
}

static void print_copy_head(const struct copy_bench *bench) {
    bench_machine_print();
    printf("\n"
           "  of best   the time of %s, the chosen kernel, divided by\n"
           "            that of memcpy or rep, whichever is faster\n"
           "  try       carry_copy_try()%s, and its time divided by that of carry_copy()\n",
           bench->memory.subjects[bench->focus].name, bench->survives ? "" : " without handlers");
    printf("  sum_copy  carry_sum_copy(), and its time divided by that of memcpy\n"
           "  sum_try   carry_sum_copy_try(), and its time divided by that of sum_copy\n"
           "  sum+copy  carry_sum(), then carry_copy()\n"
           "  stream    carry_copy_stream()\n"
           "%s"
           "Times are medians of %zu rounds.\n",
           bench->readv == COPY_SUBJECTS ? ""
                                         : "  readv     process_vm_readv() within this process\n",
           bench->memory.plan.rounds);
}

void copy_print_text(const struct copy_bench *bench) {
    print_copy_head(bench);
    print_sized(bench, COPY_HOT);
    print_sized(bench, COPY_COLD);
    print_mixed(bench);
    print_beside(bench);
    print_moves(bench);
    print_pipe(bench);
    if (bench->memory.cell_count)
        print_copy_losses(bench);
}

/* --- As JSON --- */

static json_t *copy_cell_json(const struct copy_set *set, size_t index, size_t subject) {
    const struct copy_cell *cell = &set->cells[index];
    struct bench_stats ns = copy_stats(set, index, subject);
    json_t *size = cell->size ? json_integer((json_int_t)cell->size) : json_null();
    json_t *added = cell->mode == COPY_BESIDE ? json_real(copy_added(set, index, subject)) : NULL;
    return json_pack("{s:s, s:o, s:i, s:i, s:s, s:f, s:f, s:f, s:o*}", "mode",
                     copy_modes[cell->mode].name, "size", size, "source", cell->align.source,
                     "target", cell->align.target, "subject", set->subjects[subject].name, "ns",
                     ns.median, "q1", ns.q1, "q3", ns.q3, "above_floor", added);
}

static void append_cells(json_t *list, const struct copy_set *set) {
    for (size_t cell = 0; cell < set->cell_count; cell++)
        for (size_t subject = 0; subject < set->subject_count; subject++)
            json_array_append_new(list, copy_cell_json(set, cell, subject));
}

static json_t *rate_json(const struct copy_set *set, const char *work, size_t cell, size_t subject,
                         size_t splice) {
    const struct copy_rate rate = copy_rate(set, cell, subject);
    json_t *of_splice = splice < set->subject_count
                            ? json_real(copy_ratio(set, cell, splice, subject))
                            : json_null();
    return json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:o}", "work", work, "subject",
                     set->subjects[subject].name, "block", (int)FLOW_BLOCK, "mb_per_s", rate.mb,
                     "q1", rate.q1, "q3", rate.q3, "of_read_write",
                     copy_ratio(set, cell, 0, subject), "of_splice", of_splice);
}

static json_t *rates_json(const struct copy_bench *bench) {
    json_t *list = json_array();
    for (size_t work = 0; work < bench->flow.cell_count; work++)
        for (size_t way = 0; way < bench->flow.subject_count; way++)
            json_array_append_new(
                list, rate_json(&bench->flow, flow_works[work], work, way, FLOW_SPLICE));
    for (size_t i = 0; bench->pipe.cell_count && i < bench->pipe.subject_count; i++)
        json_array_append_new(list, rate_json(&bench->pipe, "one thread", 0, i, SIZE_MAX));
    return list;
}

bool copy_print_json(const struct copy_bench *bench) {
    json_t *cells = json_array();
    append_cells(cells, &bench->memory);
    append_cells(cells, &bench->beside);
    append_cells(cells, &bench->move);
    append_cells(cells, &bench->pipe);
    json_t *object = json_pack(
        "{s:s, s:o, s:I, s:o, s:s, s:o, s:o}", "bench", "copy", "machine", bench_machine_json(),
        "rounds", (json_int_t)bench->memory.plan.rounds, "noise", bench_noise_json(&bench->noise),
        "focus", bench->memory.subjects[bench->focus].name, "cells", cells, "throughput",
        rates_json(bench));
    if (!object)
        return false;
    json_print_report(object);
    return true;
}
