/* SPDX-License-Identifier: MIT */
/* `carry bench copy`: reads the options, chooses the cells, runs the benchmark. */
#include "bench/bench_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/benches.h"
#include "bench/noise.h"
#include "common/command.h"
#include "common/options.h"

#define SIZE_MAX_BYTES ((size_t)1 << 30)
#define COLD_SIZE_MAX  ((size_t)4 << 20) /* larger copies are cold anyway */
#define BESIDE_MOST    9000              /* beside larger copies, the other work is negligible */
#define LINE_BYTES     64

struct options {
    bool quick, json;
    unsigned modes; /* one bit for each mode */
    struct bench_list sizes;
};

static const struct copy_effort quick = {15, 20e3, 8};
static const struct copy_effort normal = {61, 50e3, 45};
static const struct bench_list quick_sizes = {3, {64, 1500, 65536}};
static const struct bench_list normal_sizes = {
    9, {16, 64, 256, 1500, 4096, 9000, 65536, 1 << 20, 64 << 20}};

static void print_copy_usage(const void *context) {
    (void)context;
    puts("Usage: carry bench copy [OPTION]...\n"
         "\n"
         "Times copies on this machine: every kernel of carry_copy(); copies that survive\n"
         "faults, sum in the same pass, or bypass the caches; and, for comparison, memcpy\n"
         "and memmove of the C library, and process_vm_readv() within this process. Takes\n"
         "half a minute.\n"
         "\n"
         "  --quick       fewer sizes and rounds: a few seconds\n"
         "  --size BYTES  only this size (may be repeated)\n"
         "  --mode MODE   only this mode (may be repeated):");
    for (size_t i = 0; i < COPY_MODES; i++)
        printf("                  %-9s%s\n", copy_modes[i].name, copy_modes[i].title);
    puts("  -J, --json    print everything measured as a JSON object\n"
         "  -h, --help    print this help\n"
         "\n"
         "Exit status: 0 measured; 1 a function copies wrongly, and nothing was timed;\n"
         "3 wrong usage.\n"
         "\n"
         "Examples:\n"
         "  carry bench copy --quick\n"
         "  carry bench copy --size 1500 --mode hot --mode cold\n"
         "  CARRY_CPU_MASK=avx512bw carry bench copy");
}

static int add_copy_mode(const char *command, const struct option_row *row, const char *text) {
    unsigned *set = row->target;
    for (size_t i = 0; i < COPY_MODES; i++) {
        if (strcmp(text, copy_modes[i].name) == 0) {
            *set |= 1u << i;
            return STATUS_CLEAN;
        }
    }
    return command_usage(command, "there is no mode '%s'", text);
}

/* Reads the options like options_read(). */
static bool read_copy_options(int argc, char **argv, struct options *options, int *status) {
    const struct option_row rows[] = {
        {"quick", .flag = &options->quick},
        {"size", .set = bench_add_number, .target = &options->sizes,
         OPTION_RANGE(1, SIZE_MAX_BYTES)},
        {"mode", .set = add_copy_mode, .target = &options->modes},
        {"json", 'J', .flag = &options->json},
        {0},
    };
    return options_read_help(argc, argv, print_copy_usage, NULL, rows, OPERANDS_NONE, status);
}

/* Sets missing options to their defaults. */
static void complete_copy_options(struct options *options) {
    const unsigned sized = 1u << COPY_HOT | 1u << COPY_COLD | 1u << COPY_BESIDE;
    if (!options->modes)
        options->modes = options->sizes.count ? sized : (1u << COPY_MODES) - 1;
    if (!options->sizes.count)
        options->sizes = options->quick ? quick_sizes : normal_sizes;
}

static void add_cell(struct copy_set *set, struct copy_cell cell) {
    set->cells[set->cell_count++] = cell;
}

static void add_sized_copies(struct copy_set *set, const struct options *options,
                             enum copy_mode mode, struct copy_alignment align) {
    const size_t most = mode == COPY_HOT      ? SIZE_MAX_BYTES
                        : mode == COPY_BESIDE ? BESIDE_MOST
                                              : COLD_SIZE_MAX;
    for (size_t i = 0; i < options->sizes.count; i++) {
        struct copy_cell cell = {mode, options->sizes.items[i], align, 0};
        if (cell.size > most)
            continue;
        if (mode == COPY_COLD)
            cell.stride = (cell.size / LINE_BYTES + 2) * LINE_BYTES;
        add_cell(set, cell);
    }
}

/* Allocates room for `count` cells. Returns false if there is no memory. */
static bool make_cells(struct copy_set *set, size_t count) {
    set->cells = calloc(count, sizeof *set->cells);
    return set->cells != NULL;
}

/* Adds the cells of pipes. Returns false if the process at the other end cannot be started. */
static bool add_pipes(struct copy_bench *bench) {
    add_cell(&bench->pipe, (struct copy_cell){.mode = COPY_PIPE});
    for (size_t i = 0; i < FLOW_WORKS; i++)
        add_cell(&bench->flow, (struct copy_cell){.mode = COPY_PIPE});
    return copy_start_flow(bench);
}

static bool add_copy_cells(struct copy_bench *bench, const struct options *options) {
    const size_t sizes = options->sizes.count;
    if (!make_cells(&bench->memory, 2 * COPY_ALIGNMENTS * sizes + 1) ||
        !make_cells(&bench->beside, sizes + 1) ||
        !make_cells(&bench->move, COPY_OVERLAPS * sizes) || !make_cells(&bench->pipe, 1) ||
        !make_cells(&bench->flow, FLOW_WORKS))
        return false;
    for (enum copy_mode mode = COPY_HOT; mode <= COPY_COLD; mode++)
        for (size_t i = 0; i < COPY_ALIGNMENTS && options->modes >> mode & 1; i++)
            add_sized_copies(&bench->memory, options, mode, copy_alignments[i]);
    if (options->modes >> COPY_MIXED & 1)
        add_cell(&bench->memory, (struct copy_cell){.mode = COPY_MIXED});
    if (options->modes >> COPY_BESIDE & 1) {
        add_sized_copies(&bench->beside, options, COPY_BESIDE, copy_alignments[0]);
        add_cell(&bench->beside, (struct copy_cell){.mode = COPY_BESIDE});
    }
    for (size_t i = 0; i < COPY_OVERLAPS && options->modes >> COPY_MOVE & 1; i++)
        add_sized_copies(&bench->move, options, COPY_MOVE, copy_overlaps[i]);
    return !(options->modes >> COPY_PIPE & 1) || add_pipes(bench);
}

static size_t largest_size(const struct options *options) {
    size_t most = 0;
    for (size_t i = 0; i < options->sizes.count; i++)
        most = options->sizes.items[i] > most ? options->sizes.items[i] : most;
    return most;
}

static int run_copy_bench(struct copy_bench *bench, const struct options *options) {
    if (!copy_prepare(bench, largest_size(options)) || !add_copy_cells(bench, options))
        return command_error("out of memory, or cannot make a pipe");
    size_t size;
    const char *wrong = copy_find_wrong(bench, &size);
    if (wrong) {
        command_error("%s is WRONG: it copies %zu bytes incorrectly", wrong, size);
        return STATUS_BAD;
    }
    if (!copy_measure(bench, options->quick ? &quick : &normal))
        return command_error("out of memory");
    if (options->json)
        return copy_print_json(bench) ? STATUS_CLEAN : command_error("out of memory");
    copy_print_text(bench);
    bench_noise_print(&bench->noise);
    return STATUS_CLEAN;
}

int bench_copy(int argc, char **argv) {
    struct options options = {0};
    int status;
    if (!read_copy_options(argc, argv, &options, &status))
        return status;
    complete_copy_options(&options);
    struct copy_bench bench = {.pipes = {-1, -1}};
    status = run_copy_bench(&bench, &options);
    copy_release(&bench);
    return status;
}
