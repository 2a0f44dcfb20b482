/* SPDX-License-Identifier: MIT */
/* The benchmarks of kernels: reads the options, chooses the cells, measures and reports. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/cpu.h>

#include "bench/bench_options.h"
#include "bench/kernels.h"
#include "bench/kernels_count.h"
#include "bench/noise.h"
#include "common/command.h"
#include "common/options.h"
#include "common/text.h"

#define SIZE_MAX_BYTES ((size_t)1 << 30)
#define ALIGN_MAX      4095
#define LARGE_BYTES    ((size_t)1 << 20) /* larger than the caches of most cores */
#define BESIDE_LEAST   64                /* smaller sums vanish in the work beside them */
#define BESIDE_MOST    9000

/* The default sizes and alignments, and how long to measure. */
struct effort {
    struct bench_list sizes;
    struct bench_list aligns;
    size_t rounds;
    double sample_ns;
    double seconds; /* the most on a busy machine; doubled if every cell is measured */
};

static const struct effort quick = {
    .sizes = {7, {1, 8, 20, 64, 256, 1500, 9000}},
    .aligns = {2, {0, 1}},
    .rounds = 25,
    .sample_ns = 50e3,
    .seconds = 15,
};

static const struct effort normal = {
    .sizes = {22, {1,   2,   4,   7,    8,    14,   20,   40,   44,    64,      100,
                   128, 256, 550, 1400, 1500, 1516, 4096, 9000, 65535, 1 << 20, 64 << 20}},
    .aligns = {4, {0, 1, 3, 4}},
    .rounds = 151,
    .sample_ns = 100e3,
    .seconds = 90,
};

struct options {
    const char *name; /* of the command, for messages */
    const struct kernel_table *table;
    const struct effort *effort;
    bool every_cell; /* includes cells that are seldom of interest */
    bool quick;
    bool json;
    bool counts;
    char **arguments; /* of the command */
    bool against;
    const char *against_name; /* NULL: the best scalar kernel */
    struct bench_list sizes, aligns;
    unsigned modes; /* one bit for each mode */
    size_t pair_count;
    struct call pairs[BENCH_LIST_MAX][2];
    size_t kernel_count;
    const char *kernels[BENCH_LIST_MAX];
};

static void print_kernels_usage(const void *context) {
    const struct kernels_work *work = context;
    printf("Usage: carry bench %s [OPTION]...\n"
           "\n"
           "Times the kernels of %s on this machine.\n"
           "For comparison, it also times a plain C loop, and a routine that only loads the\n"
           "bytes. Takes half a minute.\n"
           "\n"
           "  --quick           fewer sizes and rounds: a few seconds\n"
           "  --full            every mode at every size and alignment: a minute\n"
           "  --kernel NAME     only this kernel (may be repeated, as may --size,\n"
           "                    --align and --mode)\n"
           "  --size BYTES      only this size\n"
           "  --align BYTES     only this alignment\n"
           "  --mode MODE       only this mode:\n",
           work->name, work->title);
    for (size_t i = 0; i < MODE_COUNT; i++)
        printf("                      %-12s%s\n", modes[i].name, modes[i].title);
    printf("  --interleave PAIR two sizes and alignments by turns, such as 20@1,1500@3 (may\n"
           "                    be repeated)\n"
           "  --count           also instructions and branches, in modes hot and interleave:\n"
           "                    by the counters of the CPU, or by callgrind\n"
           "  --against [NAME]  compare --kernel (the chosen kernel) with kernel NAME (the\n"
           "                    best scalar one), in a table of lengths and alignments\n"
           "  -J, --json        print everything measured as a JSON object\n"
           "  -h, --help        print this help\n"
           "\n"
           "Exit status: 0 measured; 1 a kernel computes wrong results and was not timed;\n"
           "3 wrong usage.\n"
           "\n"
           "Examples:\n"
           "  carry bench %s --quick\n"
           "  carry bench %s --size 1500 --align 0 --mode hot\n"
           "%s",
           work->name, work->name, work->examples);
}

/* --- Options --- */

static int add_kernel_mode(const char *command, const struct option_row *row, const char *text) {
    unsigned *set = row->target;
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(text, modes[i].name) == 0) {
            *set |= 1u << i;
            return STATUS_CLEAN;
        }
    }
    return command_usage(command, "there is no mode '%s'", text);
}

static int add_kernel(const char *command, const struct option_row *row, const char *name) {
    struct options *options = row->target;
    if (options->kernel_count == BENCH_LIST_MAX)
        return command_usage(command, "--kernel may be given at most %d times", BENCH_LIST_MAX);
    options->kernels[options->kernel_count++] = name;
    return STATUS_CLEAN;
}

/* Reads a call such as "1500@2", of `length` characters. Returns an exit status. */
static int read_call(const char *command, const char *option, const char *text, size_t length,
                     struct call *call) {
    char part[TEXT_SIZE];
    uint64_t size, align = 0;
    if (length >= sizeof part)
        return command_usage(command, "--%s: '%s' is too long", option, text);
    memcpy(part, text, length);
    part[length] = 0;
    char *at = strchr(part, '@');
    if (at)
        *at++ = 0;
    int status = command_number(command, option, part, 1, SIZE_MAX_BYTES, &size);
    if (status == STATUS_CLEAN && at)
        status = command_number(command, option, at, 0, ALIGN_MAX, &align);
    *call = (struct call){(uint32_t)align, (uint32_t)size};
    return status;
}

static int add_pair(const char *command, const struct option_row *row, const char *text) {
    struct options *options = row->target;
    const char *comma = strchr(text, ',');
    if (options->pair_count == BENCH_LIST_MAX)
        return command_usage(command, "--%s may be given at most %d times", row->name,
                             BENCH_LIST_MAX);
    if (!comma)
        return command_usage(command, "--%s needs two sizes, as in 20@0,1500@2, not '%s'",
                             row->name, text);
    struct call *pair = options->pairs[options->pair_count++];
    const int status = read_call(command, row->name, text, (size_t)(comma - text), &pair[0]);
    return status != STATUS_CLEAN
               ? status
               : read_call(command, row->name, comma + 1, strlen(comma + 1), &pair[1]);
}

static int set_against(const char *command, const struct option_row *row, const char *name) {
    struct options *options = row->target;
    (void)command;
    options->against = true;
    options->against_name = name;
    return STATUS_CLEAN;
}

/* Reads the options like options_read(). */
static bool read_kernel_options(int argc, char **argv, const struct kernels_work *work,
                                struct options *options, int *status) {
    const struct option_row rows[] = {
        {"quick", .flag = &options->quick},
        {"full", .flag = &options->every_cell},
        {"kernel", .set = add_kernel, .target = options},
        {"size", .set = bench_add_number, .target = &options->sizes,
         OPTION_RANGE(1, SIZE_MAX_BYTES)},
        {"align", .set = bench_add_number, .target = &options->aligns, OPTION_RANGE(0, ALIGN_MAX)},
        {"mode", .set = add_kernel_mode, .target = &options->modes},
        {"interleave", .set = add_pair, .target = options},
        {"count", .flag = &options->counts},
        {"against", .set = set_against, .value = VALUE_NEXT, .target = options},
        {"json", 'J', .flag = &options->json},
        {0},
    };
    return options_read_help(argc, argv, print_kernels_usage, work, rows, OPERANDS_NONE, status);
}

/* Adds the mode of --interleave if there are pairs; it is the only mode unless others are named.
 * Refuses options that exclude --interleave or --count. */
static int complete_added(struct options *options, unsigned interleaved) {
    if (options->modes & interleaved && !options->pair_count)
        return command_usage(options->name, "--mode interleave needs --interleave");
    if (options->pair_count && options->against)
        return command_usage(options->name, "--interleave and --against exclude each other");
    if (options->counts && options->against)
        return command_usage(options->name, "--count and --against exclude each other");
    if (options->pair_count)
        options->modes |= interleaved;
    return STATUS_CLEAN;
}

/* Sets the options that were not given; refuses options that contradict each other. */
static int complete_kernel_options(struct options *options) {
    unsigned mixes = 0, interleaved = 0;
    options->effort = options->quick ? &quick : &normal;
    for (size_t i = 0; i < MODE_COUNT; i++) {
        mixes |= (unsigned)is_mix(&modes[i]) << i;
        interleaved |= (unsigned)modes[i].interleaved << i;
    }
    const int status = complete_added(options, interleaved);
    if (status != STATUS_CLEAN)
        return status;
    unsigned all = (1u << MODE_COUNT) - 1 - interleaved;
    bool exact = options->sizes.count || options->aligns.count;
    if (options->every_cell && options->quick)
        return command_usage(options->name, "--quick and --full exclude each other");
    if (exact && options->modes & mixes)
        return command_usage(options->name,
                             "mixed modes and --interleave exclude --size and --align");
    if (!options->modes)
        options->modes = exact || options->against ? all & ~mixes : all;
    options->every_cell |= exact || options->against;
    if (!options->sizes.count)
        options->sizes = options->effort->sizes;
    if (!options->aligns.count)
        options->aligns = options->effort->aligns;
    return STATUS_CLEAN;
}

/* --- Kernels and cells --- */

static bool find_table_kernel(const struct kernel_table *table, const char *name,
                              struct carry_sum_kernel *kernel) {
    for (size_t i = 0; table->kernel(i, kernel); i++)
        if (strcmp(name, kernel->name) == 0)
            return true;
    return false;
}

static int check_usable(const struct kernel_table *table, const char *name) {
    struct carry_sum_kernel kernel;
    if (!find_table_kernel(table, name, &kernel))
        return command_error("%s has no kernel '%s'; carry cpu lists them", table->function, name);
    if (kernel.missing)
        return command_error("kernel %s needs %s, which this CPU lacks or CARRY_CPU_MASK removes",
                             name, kernel.missing);
    return STATUS_CLEAN;
}

/* Returns the name of the best scalar kernel that this CPU can run. */
static const char *best_scalar_name(const struct kernel_table *table) {
    struct carry_sum_kernel kernel;
    const char *name = NULL;
    for (size_t i = 0; table->kernel(i, &kernel); i++)
        if (!kernel.missing && kernel.vector_bits == 64)
            name = kernel.name;
    return name;
}

static bool names_kernel(const struct options *options, const char *name) {
    for (size_t i = 0; i < options->kernel_count; i++)
        if (strcmp(options->kernels[i], name) == 0)
            return true;
    return options->kernel_count == 0;
}

/* Turns --against into the two kernels that it compares. */
static int resolve_against(struct options *options) {
    if (!options->against_name)
        options->against_name = best_scalar_name(options->table);
    if (options->kernel_count > 1)
        return command_usage(options->name, "--against excludes more than one --kernel");
    if (options->kernel_count == 0)
        options->kernels[options->kernel_count++] = kernel_table_chosen_name(options->table);
    if (strcmp(options->kernels[0], options->against_name) == 0)
        return command_usage(options->name,
                             "cannot compare %s with itself: select another --kernel",
                             options->against_name);
    options->kernels[options->kernel_count++] = options->against_name;
    return STATUS_CLEAN;
}

static int add_chosen_kernels(struct kernels_bench *bench, const struct options *options) {
    for (size_t i = 0; i < options->kernel_count; i++)
        if (check_usable(options->table, options->kernels[i]) != STATUS_CLEAN)
            return STATUS_ERROR;
    struct carry_sum_kernel kernel;
    for (size_t i = 0; options->table->kernel(i, &kernel); i++)
        if (!kernel.missing && names_kernel(options, kernel.name) &&
            bench->subject_count < SUBJECTS_MAX)
            bench->subjects[bench->subject_count++] = (struct subject){kernel.name, kernel.sum};
    return STATUS_CLEAN;
}

static size_t find_subject(const struct kernels_bench *bench, const char *name, size_t otherwise) {
    for (size_t i = SUBJECT_KERNELS; i < bench->subject_count; i++)
        if (strcmp(name, bench->subjects[i].name) == 0)
            return i;
    return otherwise;
}

static void choose_roles(struct kernels_bench *bench, const struct options *options) {
    const char *chosen = kernel_table_chosen_name(options->table);
    const char *focus = options->against ? options->kernels[0] : chosen;
    const char *base = options->against ? options->against_name : best_scalar_name(options->table);
    bench->focus = find_subject(bench, focus, bench->subject_count - 1);
    bench->base = find_subject(bench, base, SUBJECT_PLAIN);
    bench->focus_chosen = strcmp(bench->subjects[bench->focus].name, chosen) == 0;
}

/* Returns whether a cell is worth measuring. Latency does not show in large sizes, nor does
 * alignment in calls that wait for memory. */
static bool is_worthwhile(const struct mode *mode, size_t size, size_t align) {
    if (mode->beside)
        return size >= BESIDE_LEAST && size <= BESIDE_MOST && align == 0;
    return size < LARGE_BYTES ? !mode->dependent || align == 0 : !mode->dependent && align == 0;
}

static void add_sized_cells(struct kernels_bench *bench, const struct options *options,
                            const struct mode *mode) {
    for (size_t i = 0; i < options->sizes.count; i++) {
        for (size_t j = 0; j < options->aligns.count; j++) {
            size_t size = options->sizes.items[i], align = options->aligns.items[j];
            if (options->every_cell || is_worthwhile(mode, size, align))
                bench->cells[bench->cell_count++] =
                    (struct cell){.mode = mode, .size = size, .align = align};
        }
    }
}

static void add_interleaved_cells(struct kernels_bench *bench, const struct options *options,
                                  const struct mode *mode) {
    for (size_t i = 0; i < options->pair_count; i++) {
        struct cell *cell = &bench->cells[bench->cell_count++];
        *cell = (struct cell){.mode = mode, .align = i};
        memcpy(cell->pair, options->pairs[i], sizeof cell->pair);
    }
}

static bool add_kernel_cells(struct kernels_bench *bench, const struct options *options) {
    size_t most = MODE_COUNT * options->sizes.count * options->aligns.count + options->pair_count;
    bench->cells = calloc(most, sizeof *bench->cells);
    for (size_t i = 0; bench->cells && i < MODE_COUNT; i++) {
        if (!(options->modes >> i & 1))
            continue;
        if (modes[i].interleaved)
            add_interleaved_cells(bench, options, &modes[i]);
        else if (is_mix(&modes[i]))
            bench->cells[bench->cell_count++] = (struct cell){.mode = &modes[i]};
        else
            add_sized_cells(bench, options, &modes[i]);
    }
    return bench->cells != NULL;
}

/* --- The benchmark --- */

static void report_wrong(const struct kernels_bench *bench) {
    for (size_t i = 0; i < bench->wrong_count; i++) {
        const struct wrong *wrong = &bench->wrong[i];
        command_error(
            "kernel %s is WRONG and was not timed: %zu bytes at alignment %zu give %0*x, not %0*x",
            wrong->kernel, wrong->size, wrong->align, bench->work->result_digits, wrong->is,
            bench->work->result_digits, wrong->should);
    }
}

static int report_kernels(const struct kernels_bench *bench, const struct options *options) {
    int status = bench->wrong_count ? STATUS_BAD : STATUS_CLEAN;
    if (options->json)
        return kernels_print_json(bench) ? status : command_error("out of memory");
    kernels_print_head(bench);
    if (options->against) {
        kernels_print_against(bench);
    } else {
        kernels_print_tables(bench, options->every_cell);
        kernels_print_verdict(bench);
    }
    bench_noise_print(&bench->noise);
    return status;
}

static bool has_enough_subjects(const struct kernels_bench *bench, const struct options *options) {
    return bench->subject_count >= SUBJECT_KERNELS + (options->against ? 2 : 1);
}

static int run_kernels_bench(struct kernels_bench *bench, const struct options *options) {
    kernels_add_references(bench);
    if (add_chosen_kernels(bench, options) != STATUS_CLEAN)
        return STATUS_ERROR;
    bench->plan.rounds = options->effort->rounds;
    bench->plan.sample_ns = options->effort->sample_ns;
    bench->plan.seconds = options->effort->seconds * (options->every_cell ? 2 : 1);
    if (!add_kernel_cells(bench, options) || !kernels_prepare(bench))
        return command_error("out of memory");
    if (options->counts && kernels_is_counted()) {
        kernels_run_all_counted(bench);
        return STATUS_CLEAN;
    }
    kernels_verify(bench);
    report_wrong(bench);
    if (!has_enough_subjects(bench, options))
        return STATUS_BAD;
    choose_roles(bench, options);
    if (!kernels_measure(bench) || (options->counts && !kernels_count(bench, options->arguments)))
        return command_error("out of memory");
    return report_kernels(bench, options);
}

int kernels_bench(const struct kernels_work *work, int argc, char **argv) {
    struct options options = {.name = argv[0], .table = work->table};
    char *arguments[argc + 3];
    arguments[0] = "carry";
    arguments[1] = "bench";
    arguments[2] = (char *)work->name;
    memcpy(arguments + 3, argv + 1, (size_t)argc * sizeof *argv);
    options.arguments = arguments;
    int status;
    if (!read_kernel_options(argc, argv, work, &options, &status))
        return status;
    status = complete_kernel_options(&options);
    if (status == STATUS_CLEAN && options.against)
        status = resolve_against(&options);
    if (status != STATUS_CLEAN)
        return status;
    struct kernels_bench bench = {.work = work};
    status = run_kernels_bench(&bench, &options);
    kernels_release(&bench);
    return status;
}
