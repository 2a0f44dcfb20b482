/* SPDX-License-Identifier: MIT */
/* What `carry bench copy` tells people and programs. */
#include <stdio.h>

#include <carry/cpu.h>
#include <jansson.h>

#include "bench_copy.h"
#include "bench_machine.h"
#include "text.h"

#define LABEL_COLUMNS  9
#define VALUE_COLUMNS  10
#define LOSS_TOLERATED 0.03

/* Three digits or more: 1.23, 12.3, 1234. */
static const char *number(char *buffer, double value) {
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buffer, TEXT_SIZE, "%.*f", decimals, value);
    return buffer;
}

static void print_header(const struct copy_set *set, const char *label, const char *last) {
    printf("%s%*s", text_colour(COLOUR_FAINT), LABEL_COLUMNS, label);
    for (size_t i = 0; i < set->subject_count; i++)
        printf("%*s", VALUE_COLUMNS, set->subjects[i].name);
    printf("%*s%s\n", VALUE_COLUMNS, last, text_colour(COLOUR_NONE));
}

static void print_values(const struct copy_set *set, size_t cell) {
    char text[TEXT_SIZE];
    for (size_t i = 0; i < set->subject_count; i++)
        printf("%*s", VALUE_COLUMNS, number(text, copy_stats(set, cell, i).median));
}

static void print_row(const struct copy_bench *bench, size_t index) {
    const struct copy_cell *cell = &bench->memory.cells[index];
    char text[TEXT_SIZE];
    if (cell->size)
        snprintf(text, sizeof text, "%zu", cell->size);
    printf("%*s", LABEL_COLUMNS, cell->size ? text : "0 to 64");
    print_values(&bench->memory, index);
    printf("%*.2f\n", VALUE_COLUMNS,
           copy_ratio(&bench->memory, index, bench->focus, copy_best(bench, index)));
}

static bool starts_table(const struct copy_bench *bench, size_t index) {
    const struct copy_cell *cell = &bench->memory.cells[index];
    return index == 0 || cell[-1].mode != cell->mode ||
           cell[-1].align.source != cell->align.source ||
           cell[-1].align.target != cell->align.target;
}

static void print_title(const struct copy_cell *cell) {
    const struct copy_mode_row *mode = &copy_modes[cell->mode];
    printf("\n%s%s%s: %s", text_colour(COLOUR_BOLD), mode->name, text_colour(COLOUR_NONE),
           mode->title);
    if (cell->size)
        printf("; source at %u, target at %u", cell->align.source, cell->align.target);
    puts("; ns");
}

static void print_losses(const struct copy_bench *bench) {
    const struct copy_set *set = &bench->memory;
    bool any = false;
    printf("\n%s is slower than the better one of memcpy and rep by more than %.0f%%:",
           set->subjects[bench->focus].name, 100 * LOSS_TOLERATED);
    for (size_t i = 0; i < set->cell_count; i++) {
        const struct copy_cell *cell = &set->cells[i];
        double loss = copy_ratio(set, i, bench->focus, copy_best(bench, i)) - 1;
        if (loss <= LOSS_TOLERATED)
            continue;
        printf("%s  %zu bytes %s from %u to %u: by %.0f%%\n", any ? "" : "\n", cell->size,
               copy_modes[cell->mode].name, cell->align.source, cell->align.target, 100 * loss);
        any = true;
    }
    printf("%s", any ? "" : " nowhere\n");
}

static void print_head(const struct copy_bench *bench) {
    struct bench_machine machine;
    bench_machine(&machine);
    printf("%s%s%s\n", text_colour(COLOUR_BOLD), machine.cpu, text_colour(COLOUR_NONE));
    printf("%s, %s, %s\n", carry_cpu_arch(), machine.system, machine.date);
    printf("libcarry %s, %s, %s\n\n", machine.version, machine.compiler, machine.flags);
    puts("  memcpy    of the C library\n"
         "  stream    carry_copy_stream()\n"
         "  readv     process_vm_readv() within this process\n"
         "  sum+copy  carry_sum(), then carry_copy(); sum_copy is carry_sum_copy()");
    printf("  of best   the time of %s, the chosen kernel, in that of memcpy or rep,\n"
           "            whichever takes less; times are medians of %zu rounds\n",
           bench->memory.subjects[bench->focus].name, bench->memory.plan.rounds);
}

void copy_print_text(const struct copy_bench *bench) {
    print_head(bench);
    for (size_t i = 0; i < bench->memory.cell_count; i++) {
        if (starts_table(bench, i)) {
            print_title(&bench->memory.cells[i]);
            print_header(&bench->memory, "bytes", "of best");
        }
        print_row(bench, i);
    }
    if (bench->pipe.cell_count) {
        print_title(&bench->pipe.cells[0]);
        print_header(&bench->pipe, "", "");
        printf("%*s", LABEL_COLUMNS, "a block");
        print_values(&bench->pipe, 0);
        putchar('\n');
    }
    if (bench->memory.cell_count)
        print_losses(bench);
}

/* --- For programs --- */

static json_t *cell_json(const struct copy_set *set, size_t index, size_t subject) {
    const struct copy_cell *cell = &set->cells[index];
    struct bench_stats ns = copy_stats(set, index, subject);
    json_t *size = cell->size ? json_integer((json_int_t)cell->size) : json_null();
    return json_pack("{s:s, s:o, s:i, s:i, s:s, s:f, s:f, s:f}", "mode",
                     copy_modes[cell->mode].name, "size", size, "source", cell->align.source,
                     "target", cell->align.target, "subject", set->subjects[subject].name, "ns",
                     ns.median, "q1", ns.q1, "q3", ns.q3);
}

static void append_cells(json_t *list, const struct copy_set *set) {
    for (size_t cell = 0; cell < set->cell_count; cell++)
        for (size_t subject = 0; subject < set->subject_count; subject++)
            json_array_append_new(list, cell_json(set, cell, subject));
}

bool copy_print_json(const struct copy_bench *bench) {
    json_t *cells = json_array();
    append_cells(cells, &bench->memory);
    append_cells(cells, &bench->pipe);
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:s, s:o}", "bench", "copy", "machine", bench_machine_json(),
                  "rounds", (json_int_t)bench->memory.plan.rounds, "focus",
                  bench->memory.subjects[bench->focus].name, "cells", cells);
    if (!object)
        return false;
    json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
    return true;
}
