/* SPDX-License-Identifier: MIT */
/* Prints the reports of the benchmarks of kernels as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>

#include "bench/bench_options.h"
#include "bench/kernels.h"
#include "common/machine.h"
#include "common/text.h"

#define LABEL_COLUMNS  9
#define LENGTH_COLUMNS 8
#define VALUE_COLUMNS  6
#define LOAD_COLUMNS   8
#define LOSS_TOLERATED 0.05
#define HEADLINE_BYTES 1500

enum unit { NS_A_CALL, BYTES_A_NS, NS_A_TURN, NS_ADDED, INSTRUCTIONS, BRANCHES };

static const char *const unit_names[] = {
    "ns a call",           "bytes/ns", "ns a turn", "ns added", "instructions above floor",
    "branches above floor"};

static bool is_count(enum unit unit) {
    return unit == INSTRUCTIONS || unit == BRANCHES;
}

static const char *size_label(char *buffer, size_t size) {
    if (size && size % ((size_t)1 << 20) == 0)
        snprintf(buffer, TEXT_SIZE, "%zu MiB", size >> 20);
    else
        snprintf(buffer, TEXT_SIZE, "%zu", size);
    return buffer;
}

static const char *row_label(char *buffer, const struct cell *cell) {
    if (cell->mode->interleaved)
        return "by turns";
    if (is_mix(cell->mode))
        return cell->mode->beside ? "imix" : cell->mode->name;
    return size_label(buffer, cell->size);
}

/* Returns whether the table of a mode contains a cell. A table of calls beside other work also
 * contains the mix. */
static bool is_of_mode(const struct cell *cell, const struct mode *mode) {
    return cell->mode == mode || (mode->beside && cell->mode->beside);
}

/* The cells of one table: of one mode at one alignment, or, if `mode` is NULL, of all mixes without
 * other work or --interleave. */
struct selection {
    const struct mode *mode;
    size_t align;
};

static bool is_selected(const struct cell *cell, struct selection selection) {
    if (!selection.mode)
        return is_mix(cell->mode) && !cell->mode->beside && !cell->mode->interleaved;
    return is_of_mode(cell, selection.mode) && cell->align == selection.align;
}

static bool is_selection_empty(const struct kernels_bench *bench, struct selection selection) {
    for (size_t i = 0; i < bench->cell_count; i++)
        if (is_selected(&bench->cells[i], selection))
            return false;
    return true;
}

static double floor_ns(const struct kernels_bench *bench, struct selection selection) {
    double lowest = 0;
    for (size_t i = 0; i < bench->cell_count; i++) {
        double median = kernels_stats(bench, i, SUBJECT_FLOOR).median;
        if (is_selected(&bench->cells[i], selection) && (lowest == 0 || median < lowest))
            lowest = median;
    }
    return lowest;
}

/* Returns the fastest subject of the kernels and the plain loop. */
static size_t fastest_subject(const struct kernels_bench *bench, size_t cell) {
    size_t best = SUBJECT_PLAIN;
    for (size_t i = SUBJECT_KERNELS; i < bench->subject_count; i++)
        if (kernels_stats(bench, cell, i).median < kernels_stats(bench, cell, best).median)
            best = i;
    return best;
}

static double spread_of(const struct kernels_bench *bench, size_t cell, size_t subject) {
    struct bench_stats ns = kernels_stats(bench, cell, subject);
    return (ns.q3 - ns.q1) / 2 / ns.median;
}

static double worst_spread(const struct kernels_bench *bench, struct selection selection) {
    double worst = 0;
    for (size_t cell = 0; cell < bench->cell_count; cell++)
        for (size_t i = SUBJECT_PLAIN; i < bench->subject_count; i++)
            if (is_selected(&bench->cells[cell], selection))
                worst = fmax(worst, spread_of(bench, cell, i));
    return worst;
}

/* Returns the subject of a column: the plain loop, then the kernels, then the load bound. */
static size_t subject_at(const struct kernels_bench *bench, size_t column) {
    if (column == 0)
        return SUBJECT_PLAIN;
    size_t kernel = SUBJECT_KERNELS + column - 1;
    return kernel < bench->subject_count ? kernel : SUBJECT_LOAD;
}

static size_t column_count(const struct kernels_bench *bench) {
    return bench->subject_count - SUBJECT_PLAIN;
}

/* Columns of a table that fit side by side. Each part begins with the plain loop. */
struct part {
    size_t first, last; /* columns, without the column of the plain loop */
    bool is_last;       /* the load bound follows */
};

static struct part part_from(const struct kernels_bench *bench, size_t first) {
    int widths[SUBJECTS_MAX];
    const size_t count = column_count(bench);
    for (size_t i = 0; i < count; i++)
        widths[i] = VALUE_COLUMNS;
    const size_t last =
        first + text_fitting(widths, count - first, LABEL_COLUMNS + VALUE_COLUMNS + LOAD_COLUMNS);
    return (struct part){first, last, last == count};
}

static size_t part_width(struct part part) {
    return 1 + part.last - part.first;
}

static size_t subject_of(const struct kernels_bench *bench, struct part part, size_t place) {
    return subject_at(bench, place ? part.first + place - 1 : 0);
}

/* Returns the number of header lines: names wider than a column would overlap in a single line. */
static size_t header_lines(const struct kernels_bench *bench) {
    size_t longest = 0;
    for (size_t i = 0; i < column_count(bench); i++) {
        size_t length = strlen(bench->subjects[subject_at(bench, i)].name);
        longest = length > longest ? length : longest;
    }
    return longest / VALUE_COLUMNS + 1;
}

/*
 * Prints the rest of header line `line`, after the `at` characters that are already printed: the
 * names of every `lines`th column, right-aligned above the columns. Returns the number of
 * characters that the line then has.
 */
static int print_header_line(const struct kernels_bench *bench, struct part part, size_t line,
                             size_t lines, int at) {
    for (size_t place = line; place < part_width(part); place += lines) {
        int end = LABEL_COLUMNS + VALUE_COLUMNS * (int)(place + 1);
        at += printf("%*s", end - at, bench->subjects[subject_of(bench, part, place)].name);
    }
    return at;
}

static void print_table_header(const struct kernels_bench *bench, struct part part,
                               const char *label) {
    size_t lines = header_lines(bench);
    int end = LABEL_COLUMNS + VALUE_COLUMNS * (int)part_width(part);
    for (size_t line = 0; line < lines; line++) {
        bool last = line + 1 == lines;
        printf("%s", text_colour(COLOUR_FAINT));
        int at = last ? printf("%*s", LABEL_COLUMNS, label) : 0;
        at = print_header_line(bench, part, line, lines, at);
        if (last && part.is_last)
            printf("%*s", end - at + LOAD_COLUMNS, "of load");
        printf("%s\n", text_colour(COLOUR_NONE));
    }
}

static double cell_value(const struct kernels_bench *bench, size_t cell, size_t subject,
                         enum unit unit) {
    if (is_count(unit)) {
        const struct kernels_counted *counted =
            &bench->counts[cell * bench->subject_count + subject];
        return unit == BRANCHES ? counted->branches : counted->instructions;
    }
    if (unit == NS_ADDED)
        return kernels_added(bench, cell, subject);
    double ns = kernels_stats(bench, cell, subject).median;
    return unit == BYTES_A_NS ? bench->cells[cell].bytes / ns : ns;
}

static void print_kernel_row(const struct kernels_bench *bench, struct part part, size_t index,
                             enum unit unit) {
    const struct cell *cell = &bench->cells[index];
    char text[TEXT_SIZE];
    size_t best = fastest_subject(bench, index);
    printf("%*s", LABEL_COLUMNS, row_label(text, cell));
    for (size_t place = 0; place < part_width(part); place++) {
        size_t subject = subject_of(bench, part, place);
        bool bold = subject == best;
        const double value = cell_value(bench, index, subject, unit);
        printf("%s%*s%s", bold ? text_colour(COLOUR_BOLD) : "", VALUE_COLUMNS,
               isnan(value) ? "-" : text_measure(text, value),
               bold ? text_colour(COLOUR_NONE) : "");
    }
    if (part.is_last)
        printf("%*s", LOAD_COLUMNS,
               text_percent(text, kernels_ratio(bench, index, SUBJECT_LOAD, bench->focus)));
    putchar('\n');
}

static void print_part(const struct kernels_bench *bench, struct selection selection,
                       struct part part, enum unit unit) {
    print_table_header(bench, part, selection.mode ? "bytes" : "mode");
    for (size_t i = 0; i < bench->cell_count; i++)
        if (is_selected(&bench->cells[i], selection))
            print_kernel_row(bench, part, i, unit);
}

static void print_pair(FILE *out, const struct kernels_bench *bench, struct selection selection) {
    char sizes[2][TEXT_SIZE];
    const struct cell *cell = bench->cells;
    while (!is_selected(cell, selection))
        cell++;
    fprintf(out, "%s bytes at %u and %s at %u, by turns; ",
            size_label(sizes[0], cell->pair[0].size), cell->pair[0].offset,
            size_label(sizes[1], cell->pair[1].size), cell->pair[1].offset);
}

static void print_table_title(const struct kernels_bench *bench, struct selection selection,
                              enum unit unit) {
    char text[TEXT_SIZE];
    const struct mode *mode = selection.mode;
    struct text_block block;
    putchar('\n');
    text_block_begin(&block, stdout);
    fprintf(block.out, "%s%s%s: ", text_colour(COLOUR_BOLD), mode ? mode->name : "mixed",
            text_colour(COLOUR_NONE));
    if (mode && mode->interleaved)
        print_pair(block.out, bench, selection);
    else if (mode)
        fprintf(block.out, "%s, alignment %zu; ", mode->title, selection.align);
    fprintf(block.out, "%s", unit_names[unit]);
    if (unit == NS_A_CALL || unit == NS_A_TURN)
        fprintf(block.out, ", floor %s", text_measure(text, floor_ns(bench, selection)));
    fputc('\n', block.out);
    text_block_end(&block, 0);
}

static void print_kernel_table(const struct kernels_bench *bench, struct selection selection,
                               enum unit unit) {
    struct part part = {.last = 1};
    print_table_title(bench, selection, unit);
    while (part.last < column_count(bench)) {
        part = part_from(bench, part.last);
        part.is_last = part.is_last && !is_count(unit);
        print_part(bench, selection, part, unit);
    }
    if (!is_count(unit))
        printf("spread at most %.1f%%\n", 100 * worst_spread(bench, selection));
}

static void print_selection(const struct kernels_bench *bench, struct selection selection) {
    if (is_selection_empty(bench, selection))
        return;
    if (selection.mode && selection.mode->beside) {
        print_kernel_table(bench, selection, NS_A_TURN);
        print_kernel_table(bench, selection, NS_ADDED);
        return;
    }
    print_kernel_table(bench, selection, NS_A_CALL);
    if (!selection.mode || !selection.mode->dependent)
        print_kernel_table(bench, selection, BYTES_A_NS);
    if (bench->counted_by && selection.mode && !selection.mode->dependent) {
        print_kernel_table(bench, selection, INSTRUCTIONS);
        print_kernel_table(bench, selection, BRANCHES);
    }
}

/* --- Lengths down, alignments across --- */

static struct bench_list aligns_of(const struct kernels_bench *bench, const struct mode *mode) {
    struct bench_list aligns = {0};
    for (size_t i = 0; i < bench->cell_count; i++) {
        const struct cell *cell = &bench->cells[i];
        size_t j = 0;
        while (j < aligns.count && aligns.items[j] != cell->align)
            j++;
        if (is_of_mode(cell, mode) && j == aligns.count)
            aligns.items[aligns.count++] = cell->align;
    }
    return aligns;
}

static const struct cell *find_cell(const struct kernels_bench *bench, const struct mode *mode,
                                    size_t size, size_t align) {
    const struct cell *cell = bench->cells;
    while (cell->mode != mode || cell->size != size || cell->align != align)
        if (++cell == bench->cells + bench->cell_count)
            return NULL;
    return cell;
}

typedef void print_entry_fn(const struct kernels_bench *bench, size_t cell, int columns);

static void print_focus_ns(const struct kernels_bench *bench, size_t cell, int columns) {
    char text[TEXT_SIZE];
    printf("%*s", columns, text_measure(text, kernels_stats(bench, cell, bench->focus).median));
}

static void print_old_new(const struct kernels_bench *bench, size_t cell, int columns) {
    char old[TEXT_SIZE], new[TEXT_SIZE], times[TEXT_SIZE];
    text_measure(old, kernels_stats(bench, cell, bench->base).median);
    text_measure(new, kernels_stats(bench, cell, bench->focus).median);
    text_times(times, kernels_ratio(bench, cell, bench->base, bench->focus));
    printf("%*s/%-5s%6s", columns - 12, old, new, times);
}

/* Prints alignments `first` to `last - 1` of a grid. */
static void print_grid_part(const struct kernels_bench *bench, const struct mode *mode,
                            const struct bench_list *aligns, size_t first, size_t last, int columns,
                            print_entry_fn *print_entry) {
    printf("%s%*s", text_colour(COLOUR_FAINT), LENGTH_COLUMNS, "Len\\Aln");
    for (size_t i = first; i < last; i++)
        printf("%*zu", columns, aligns->items[i]);
    printf("%s\n", text_colour(COLOUR_NONE));
    for (size_t row = 0; row < bench->cell_count; row++) {
        char text[TEXT_SIZE];
        size_t size = bench->cells[row].size;
        if (bench->cells[row].mode != mode || bench->cells[row].align != aligns->items[0])
            continue;
        printf("%*s", LENGTH_COLUMNS, size_label(text, size));
        for (size_t i = first; i < last; i++) {
            const struct cell *cell = find_cell(bench, mode, size, aligns->items[i]);
            if (cell)
                print_entry(bench, (size_t)(cell - bench->cells), columns);
        }
        putchar('\n');
    }
}

static void print_length_grid(const struct kernels_bench *bench, const struct mode *mode,
                              int columns, print_entry_fn *print_entry) {
    const struct bench_list aligns = aligns_of(bench, mode);
    int widths[BENCH_LIST_MAX];
    for (size_t i = 0; i < aligns.count; i++)
        widths[i] = columns;
    for (size_t first = 0, last; first < aligns.count; first = last) {
        last = first + text_fitting(widths, aligns.count - first, LENGTH_COLUMNS);
        print_grid_part(bench, mode, &aligns, first, last, columns, print_entry);
    }
}

static void print_alignments(const struct kernels_bench *bench, const struct mode *mode) {
    printf("\n%s%s%s: %s at each alignment, ns a call\n", text_colour(COLOUR_BOLD), mode->name,
           text_colour(COLOUR_NONE), bench->subjects[bench->focus].name);
    print_length_grid(bench, mode, 9, print_focus_ns);
}

void kernels_print_tables(const struct kernels_bench *bench, bool every_alignment) {
    for (size_t i = 0; i < MODE_COUNT; i++) {
        struct bench_list aligns = aligns_of(bench, &modes[i]);
        if ((is_mix(&modes[i]) && !modes[i].interleaved) || aligns.count == 0)
            continue;
        size_t shown = every_alignment || modes[i].interleaved ? aligns.count : 1;
        for (size_t j = 0; j < shown; j++)
            print_selection(bench, (struct selection){&modes[i], aligns.items[j]});
        if (shown < aligns.count)
            print_alignments(bench, &modes[i]);
    }
    print_selection(bench, (struct selection){.mode = NULL});
}

void kernels_print_against(const struct kernels_bench *bench) {
    const char *old = bench->subjects[bench->base].name;
    const char *new = bench->subjects[bench->focus].name;
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (is_mix(&modes[i]) || aligns_of(bench, &modes[i]).count == 0)
            continue;
        printf("\n"
               "%s%s%s: %s/%s in ns a call,\n"
               "  and how many times as fast the second is\n",
               text_colour(COLOUR_BOLD), modes[i].name, text_colour(COLOUR_NONE), old, new);
        print_length_grid(bench, &modes[i], 18, print_old_new);
    }
    if (!is_selection_empty(bench, (struct selection){.mode = NULL}))
        print_kernel_table(bench, (struct selection){.mode = NULL}, NS_A_CALL);
}

/* --- In words --- */

static void print_cell_name(FILE *out, const struct cell *cell) {
    char text[TEXT_SIZE], other[TEXT_SIZE];
    if (cell->mode->interleaved)
        fprintf(out, "%s and %s bytes by turns", size_label(text, cell->pair[0].size),
                size_label(other, cell->pair[1].size));
    else if (is_mix(cell->mode))
        fprintf(out, "%s", cell->mode->name);
    else
        fprintf(out, "%s bytes %s", size_label(text, cell->size), cell->mode->name);
}

static void print_headline(const struct kernels_bench *bench, size_t index) {
    struct text_block block;
    char text[TEXT_SIZE];
    text_block_begin(&block, stdout);
    print_cell_name(block.out, &bench->cells[index]);
    fprintf(block.out, ": %s is ", bench->subjects[bench->focus].name);
    if (bench->base != bench->focus)
        fprintf(block.out, "%s %s, ",
                text_times(text, kernels_ratio(bench, index, bench->base, bench->focus)),
                bench->subjects[bench->base].name);
    fprintf(block.out, "%s of the load bound\n",
            text_percent(text, kernels_ratio(bench, index, SUBJECT_LOAD, bench->focus)));
    text_block_end(&block, 2);
}

static void print_loss(const struct kernels_bench *bench, size_t index, double loss) {
    char focus[TEXT_SIZE], base[TEXT_SIZE], by[TEXT_SIZE];
    const struct cell *cell = &bench->cells[index];
    printf("  ");
    print_cell_name(stdout, cell);
    if (!is_mix(cell->mode))
        printf(", alignment %zu", cell->align);
    printf(": by %s, %s against %s ns\n", text_percent(by, loss),
           text_measure(focus, kernels_stats(bench, index, bench->focus).median),
           text_measure(base, kernels_stats(bench, index, bench->base).median));
}

static void print_losses(const struct kernels_bench *bench) {
    bool any = false;
    printf("%s is slower than %s by more than %.0f%%:", bench->subjects[bench->focus].name,
           bench->subjects[bench->base].name, 100 * LOSS_TOLERATED);
    for (size_t i = 0; i < bench->cell_count; i++) {
        double loss = kernels_ratio(bench, i, bench->focus, bench->base) - 1;
        if (loss <= LOSS_TOLERATED)
            continue;
        printf("%s", any ? "" : "\n");
        print_loss(bench, i, loss);
        any = true;
    }
    printf("%s", any ? "" : " nowhere\n");
}

static void print_counted_by(const struct kernels_bench *bench) {
    struct text_block block;
    text_block_begin(&block, stdout);
    if (!bench->counted_by)
        fputs("Nothing was counted: there are no counters of the CPU, and no valgrind.\n",
              block.out);
    else if (strcmp(bench->counted_by, "callgrind") == 0)
        fputs("Counted by callgrind, which has no AVX-512 and counts conditional and indirect "
              "branches.\n",
              block.out);
    else
        fputs("Counted by the CPU.\n", block.out);
    text_block_end(&block, 0);
}

void kernels_print_verdict(const struct kernels_bench *bench) {
    bool any = false;
    putchar('\n');
    for (size_t i = 0; i < bench->cell_count; i++) {
        const struct cell *cell = &bench->cells[i];
        if (!is_mix(cell->mode) && (cell->size != HEADLINE_BYTES || cell->align != 0))
            continue;
        print_headline(bench, i);
        any = true;
    }
    if (bench->counts)
        print_counted_by(bench);
    if (bench->base == bench->focus)
        return;
    printf("%s", any ? "\n" : "");
    print_losses(bench);
}

void kernels_print_head(const struct kernels_bench *bench) {
    bench_machine_print();
    printf("\n"
           "  plain    %s\n",
           bench->work->plain_title);
    printf("  load     loads the bytes, %u bits at a time, and does nothing else\n",
           bench->load_bits);
    puts("  floor    an empty call; every time below includes it");
    puts("  added    the time that a call adds to a turn with an empty call");
    printf("  of load  the time of load divided by that of %s%s\n",
           bench->subjects[bench->focus].name,
           bench->focus_chosen ? ",\n           the chosen kernel" : "");
    printf("  spread   half the distance between the quartiles of %zu rounds, in the\n"
           "           noisiest cell of the table; times are medians\n",
           bench->plan.rounds);
}
