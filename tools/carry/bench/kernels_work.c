/* SPDX-License-Identifier: MIT */
/* Runs and times kernels and references in all modes, for the benchmarks of kernels. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/kernels.h"
#include "bench/load.h"
#include "common/beside.h"
#include "common/progress.h"

/* A mix covers 1 MiB. It has so many calls that no branch predictor learns their sequence. */
#define MIX_BYTES ((size_t)1 << 20)
#define MIX_CALLS ((size_t)1 << 17)

#define HUGE_PAGE_BYTES ((size_t)1 << 21)
#define VERIFY_SIZES    2048

#define IMIX_SHARES                                                                                \
    {40, 40, 7}, {576, 576, 4}, {                                                                  \
        1500, 1500, 1                                                                              \
    }

const struct mode modes[MODE_COUNT] = {
    {.name = "hot", .title = "the same bytes again and again"},
    {.name = "latency", .title = "each call needs the previous sum", .dependent = true},
    {.name = "mixed64",
     .title = "1 to 64 bytes at random addresses within 1 MiB",
     .sample_calls = 1 << 14,
     .shares = {{1, 64, 1}}},
    {.name = "mixed1500",
     .title = "1 to 1500 bytes, the same way",
     .sample_calls = 1 << 12,
     .shares = {{1, 1500, 1}}},
    {.name = "imix",
     .title = "40, 576 and 1500 bytes, 7:4:1, the same way",
     .sample_calls = 1 << 13,
     .shares = {IMIX_SHARES}},
    {.name = "beside", .title = "other work after each call", .beside = true},
    {.name = "beside-imix",
     .title = "the same, with the sizes of imix",
     .beside = true,
     .shares = {IMIX_SHARES}},
    {.name = "interleave", .title = "the sizes of --interleave, by turns", .interleaved = true},
};

uint32_t kernels_floor(const void *data, size_t size, uint32_t sum) {
    (void)size;
    return (uint32_t)(uintptr_t)data + sum;
}

void kernels_add_references(struct kernels_bench *bench) {
    struct bench_load load = bench_load_widest();
    bench->subjects[SUBJECT_FLOOR] = (struct subject){"floor", kernels_floor};
    bench->subjects[SUBJECT_PLAIN] = (struct subject){"plain", bench->work->plain};
    bench->subjects[SUBJECT_LOAD] = (struct subject){"load", load.load};
    bench->subject_count = SUBJECT_KERNELS;
    bench->load_bits = load.vector_bits;
}

/* Returns the next number of xorshift64*: the same numbers in every run. */
static uint32_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

static uint32_t random_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)((uint64_t)next_random(state) * limit >> 32);
}

static uint32_t random_size(uint64_t *state, const struct mode *mode) {
    uint32_t total = 0;
    for (size_t i = 0; i < 3; i++)
        total += mode->shares[i].weight;
    const struct share *share = mode->shares;
    for (uint32_t pick = random_below(state, total); pick >= share->weight; share++)
        pick -= share->weight;
    return share->low + random_below(state, share->high - share->low + 1u);
}

static struct call *make_calls(const struct mode *mode) {
    struct call *calls = malloc(MIX_CALLS * sizeof *calls);
    uint64_t state = 1;
    for (size_t i = 0; calls && i < MIX_CALLS; i++) {
        calls[i].size = random_size(&state, mode);
        calls[i].offset = random_below(&state, (uint32_t)(MIX_BYTES - calls[i].size + 1));
    }
    return calls;
}

static double mean_size(const struct call *calls) {
    double total = 0;
    for (size_t i = 0; i < MIX_CALLS; i++)
        total += calls[i].size;
    return total / (double)MIX_CALLS;
}

static size_t larger_size(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t arena_size(const struct kernels_bench *bench) {
    size_t size = MIX_BYTES;
    for (size_t i = 0; i < bench->cell_count; i++) {
        const struct cell *cell = &bench->cells[i];
        size = larger_size(size, cell->size + cell->align);
        for (size_t j = 0; j < 2; j++)
            size = larger_size(size, (size_t)cell->pair[j].size + cell->pair[j].offset);
    }
    return (size + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
}

static unsigned char *make_arena(size_t size) {
    unsigned char *arena = aligned_alloc(HUGE_PAGE_BYTES, size);
    if (!arena)
        return NULL;
    /* Without huge pages, times of large sizes depend on the pages that this run was given. */
    madvise(arena, size, MADV_HUGEPAGE);
    uint64_t state = 2;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t word = next_random(&state);
        memcpy(arena + i, &word, 4);
    }
    return arena;
}

bool kernels_prepare(struct kernels_bench *bench) {
    bench->arena = make_arena(arena_size(bench));
    if (!bench->arena)
        return false;
    for (size_t i = 0; i < bench->cell_count; i++) {
        struct cell *cell = &bench->cells[i];
        cell->data = bench->arena + (is_mix(cell->mode) ? 0 : cell->align);
        cell->bytes = (double)cell->size;
        if (cell->mode->interleaved)
            cell->bytes = ((double)cell->pair[0].size + cell->pair[1].size) / 2;
        if (!is_mix(cell->mode) || cell->mode->interleaved)
            continue;
        struct call **mix = &bench->mixes[cell->mode - modes];
        if (!*mix)
            *mix = make_calls(cell->mode);
        if (!*mix)
            return false;
        cell->calls = *mix;
        cell->bytes = mean_size(*mix);
    }
    return true;
}

void kernels_release(struct kernels_bench *bench) {
    for (size_t i = 0; i < MODE_COUNT; i++)
        free(bench->mixes[i]);
    free(bench->arena);
    free(bench->cells);
    free(bench->samples);
    free(bench->counts);
}

/* --- Verification --- */

static bool agrees_with_plain(struct kernels_bench *bench, const struct subject *kernel,
                              const unsigned char *data, size_t size, size_t align, uint32_t seed) {
    uint32_t is = bench->work->result(kernel->sum(data, size, seed));
    uint32_t should = bench->work->result(bench->work->plain(data, size, seed));
    if (is == should)
        return true;
    bench->wrong[bench->wrong_count++] = (struct wrong){kernel->name, size, align, is, should};
    return false;
}

/* Returns whether a kernel is right for all small sizes at random alignments, and for all cells to
 * be timed, except mixes. */
static bool is_kernel_right(struct kernels_bench *bench, const struct subject *kernel) {
    static unsigned char ones[VERIFY_SIZES + 64];
    memset(ones, 0xff, sizeof ones);
    uint64_t state = 3;
    for (size_t size = 0; size < VERIFY_SIZES; size++) {
        size_t align = random_below(&state, 64);
        uint32_t seed = next_random(&state);
        if (!agrees_with_plain(bench, kernel, bench->arena + align, size, align, seed) ||
            !agrees_with_plain(bench, kernel, ones + align, size, align, UINT32_MAX))
            return false;
    }
    for (size_t i = 0; i < bench->cell_count; i++) {
        const struct cell *cell = &bench->cells[i];
        if (!agrees_with_plain(bench, kernel, cell->data, cell->size, cell->align, 0))
            return false;
        for (size_t j = 0; j < 2; j++)
            if (!agrees_with_plain(bench, kernel, cell->data + cell->pair[j].offset,
                                   cell->pair[j].size, cell->pair[j].offset, 0))
                return false;
    }
    return true;
}

void kernels_verify(struct kernels_bench *bench) {
    size_t kept = SUBJECT_KERNELS;
    for (size_t i = SUBJECT_KERNELS; i < bench->subject_count; i++) {
        struct subject kernel = bench->subjects[i];
        if (is_kernel_right(bench, &kernel))
            bench->subjects[kept++] = kernel;
    }
    bench->subject_count = kept;
}

/* --- The loops that are timed --- */

static uint32_t run_hot(const struct cell *cell, carry_sum_fn *sum, size_t calls) {
    uint32_t total = 0;
    for (; calls; calls--)
        total += sum(cell->data, cell->size, 0);
    return total;
}

/* Makes each call wait for the previous one: the mask is 0, but the compiler must assume that the
 * address depends on the sum. */
static uint32_t run_latency(const struct cell *cell, carry_sum_fn *sum, size_t calls) {
    size_t mask = 0;
    uint32_t last = 0;
    __asm__("" : "+r"(mask));
    for (; calls; calls--)
        last = sum(cell->data + (last & mask), cell->size, 0);
    return last;
}

static uint32_t run_mix(const struct cell *cell, carry_sum_fn *sum, size_t first, size_t calls) {
    uint32_t total = 0;
    for (size_t i = first; i < first + calls; i++) {
        const struct call *call = &cell->calls[i % MIX_CALLS];
        total += sum(cell->data + call->offset, call->size, 0);
    }
    return total;
}

static uint32_t run_beside(const struct cell *cell, carry_sum_fn *sum, size_t first, size_t calls) {
    uint32_t total = 0;
    uint64_t work = 1;
    for (size_t i = first; i < first + calls; i++) {
        const struct call one = {0, (uint32_t)cell->size};
        const struct call *call = cell->calls ? &cell->calls[i % MIX_CALLS] : &one;
        total += sum(cell->data + call->offset, call->size, 0);
        work = bench_beside(work);
    }
    return total + (uint32_t)work;
}

/* Runs pairs of calls, so that both sizes are called equally often. */
static uint32_t run_pairs(const struct cell *cell, carry_sum_fn *sum, size_t pairs) {
    const struct call *pair = cell->pair;
    uint32_t total = 0;
    for (; pairs; pairs--) {
        total += sum(cell->data + pair[0].offset, pair[0].size, 0);
        total += sum(cell->data + pair[1].offset, pair[1].size, 0);
    }
    return total;
}

__attribute__((noinline)) uint32_t kernels_run_cell(const struct cell *cell, carry_sum_fn *sum,
                                                    size_t first, size_t calls) {
    if (cell->mode->beside)
        return run_beside(cell, sum, first, calls);
    if (cell->mode->interleaved)
        return run_pairs(cell, sum, calls);
    if (is_mix(cell->mode))
        return run_mix(cell, sum, first, calls);
    return cell->mode->dependent ? run_latency(cell, sum, calls) : run_hot(cell, sum, calls);
}

static uint32_t run_planned_cell(const void *context, size_t cell, size_t subject, size_t first,
                                 size_t calls) {
    const struct kernels_bench *bench = context;
    return kernels_run_cell(&bench->cells[cell], bench->subjects[subject].sum, first, calls);
}

static size_t fixed_calls(const void *context, size_t cell) {
    const struct kernels_bench *bench = context;
    return bench->cells[cell].mode->sample_calls;
}

/* Returns whether the CPU's clock must recover before a sample: a lower clock is a cost of the
 * calls that cause it, and must not slow the next subject. */
static bool cell_settles(const void *context, size_t cell) {
    const struct kernels_bench *bench = context;
    return bench->cells[cell].mode->beside;
}

static void show_kernel_progress(size_t done, size_t total) {
    (void)total;
    if (progress_due)
        progress_draw(done);
}

/* Halves the samples of pairs: each becomes the mean of both calls. */
static void halve_pairs(struct kernels_bench *bench) {
    const struct bench_plan *plan = &bench->plan;
    const size_t samples = plan->subjects * plan->rounds; /* per cell */
    for (size_t i = 0; i < plan->cells * samples; i++)
        if (bench->cells[i / samples].mode->interleaved)
            bench->samples[i] /= 2;
}

bool kernels_measure(struct kernels_bench *bench) {
    bench->plan.cells = bench->cell_count;
    bench->plan.subjects = bench->subject_count;
    bench->plan.run = run_planned_cell;
    bench->plan.fixed_calls = fixed_calls;
    bench->plan.settles = cell_settles;
    bench->plan.context = bench;
    bench->plan.progress = show_kernel_progress;
    progress_begin_steps(bench->plan.cells * bench->plan.rounds);
    const size_t rounds = bench->plan.rounds;
    bench->samples = bench_measure(&bench->plan);
    progress_end();
    if (bench->samples)
        halve_pairs(bench);
    if (bench->samples)
        bench_noise_add_plan(&bench->noise, &bench->plan, rounds, bench->samples);
    return bench->samples != NULL;
}

struct bench_stats kernels_stats(const struct kernels_bench *bench, size_t cell, size_t subject) {
    return bench_stats(bench_samples(&bench->plan, bench->samples, cell, subject),
                       bench->plan.rounds);
}

double kernels_ratio(const struct kernels_bench *bench, size_t cell, size_t subject, size_t base) {
    return bench_ratio(bench_samples(&bench->plan, bench->samples, cell, subject),
                       bench_samples(&bench->plan, bench->samples, cell, base), bench->plan.rounds);
}

double kernels_added(const struct kernels_bench *bench, size_t cell, size_t subject) {
    return bench_added(bench_samples(&bench->plan, bench->samples, cell, subject),
                       bench_samples(&bench->plan, bench->samples, cell, SUBJECT_FLOOR),
                       bench->plan.rounds);
}
