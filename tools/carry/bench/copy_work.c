/* SPDX-License-Identifier: MIT */
/* Runs and times the subjects of `carry bench copy`, in memory and through a pipe. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <carry/fault.h>
#include <carry/sum.h>

#include "bench/bench_copy.h"
#include "common/beside.h"
#include "common/progress.h"

#define PAGE_BYTES      ((size_t)4096)
#define HUGE_PAGE_BYTES ((size_t)1 << 21)
#define COLD_BYTES      ((size_t)64 << 20) /* size of source and of target: larger than caches */
#define MIX_BYTES       ((size_t)1 << 20)
#define MIX_CALLS       ((size_t)1 << 16)
#define MIX_SAMPLE      ((size_t)1 << 14)
#define MIX_MAX         64
#define IMIX_MAX        1500
#define PLACE_STEP      ((size_t)7919)    /* a prime, so that all places are used */
#define COLD_SAMPLE     ((size_t)1 << 20) /* bytes of source, and of target, in a sample */
#define FLOW_SAMPLES    10 /* lengthens samples, which begin with an order to another process */

const struct copy_mode_row copy_modes[COPY_MODES] = {
    [COPY_HOT] = {"hot", "the same bytes again and again"},
    [COPY_COLD] = {"cold", "other bytes each time, more than the caches hold"},
    [COPY_MIXED] = {"mixed64", "0 to 64 bytes at changing addresses within 1 MiB"},
    [COPY_BESIDE] = {"beside", "a microsecond of other work after each copy"},
    [COPY_MOVE] = {"move", "the same bytes, between overlapping ranges"},
    [COPY_PIPE] = {"pipe", "blocks of 32 KiB as in dd | cat, and through a pipe"},
};

const struct copy_alignment copy_alignments[COPY_ALIGNMENTS] = {{0, 0}, {1, 0}, {0, 3}, {13, 7}};
const struct copy_alignment copy_overlaps[COPY_OVERLAPS] = {{13, 0}, {0, 13}, {1000, 0}, {0, 1000}};

/* --- Subjects --- */

static uint32_t copy_by_kernel_of_system(void *dst, const void *src, size_t size) {
    const struct iovec to = {.iov_base = dst, .iov_len = size};
    const struct iovec from = {.iov_base = (void *)src, .iov_len = size};
    return (uint32_t)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

/* Returns whether process_vm_readv() works: sandboxes refuse it, and emulators lack it. */
static bool has_system_copy(void) {
    unsigned char to = 0;
    const unsigned char from = 1;
    return copy_by_kernel_of_system(&to, &from, sizeof to) == sizeof to && to == from;
}

static uint32_t sum_then_copy(void *dst, const void *src, size_t size) {
    uint32_t sum = carry_sum_call(src, size, 0);
    carry_copy(dst, src, size);
    return sum;
}

static uint32_t sum_copy(void *dst, const void *src, size_t size) {
    return carry_sum_copy(dst, src, size, 0);
}

static uint32_t sum_copy_try(void *dst, const void *src, size_t size) {
    uint32_t sum = 0;
    carry_sum_copy_try(dst, src, size, &sum);
    return sum;
}

static uint32_t nothing_more(void *dst, const void *src, size_t size) {
    (void)src, (void)size;
    return *(unsigned char *)dst;
}

static uint32_t sum_of_block(void *dst, const void *src, size_t size) {
    (void)dst;
    return carry_sum_call(src, size, 0);
}

static uint32_t copy_of_block(void *dst, const void *src, size_t size) {
    carry_copy(dst, src, size);
    return *(unsigned char *)dst;
}

void copy_nothing(void *dst, const void *src, size_t size) {
    (void)dst, (void)src, (void)size;
}

/* Adds a subject; returns its index. */
static size_t add_subject(struct copy_set *set, struct copy_subject subject) {
    if (set->subject_count == COPY_SUBJECTS)
        abort();
    set->subjects[set->subject_count] = subject;
    return set->subject_count++;
}

/* Casts a function whose return value is ignored. */
#define AS_COPY(function) ((carry_copy_fn *)(void (*)(void))(function))

static void add_copy_kernels(struct copy_bench *bench) {
    struct copy_set *set = &bench->memory;
    bench->rep = bench->memcpy =
        add_subject(set, (struct copy_subject){"memcpy", .copy = AS_COPY(memcpy)});
    struct carry_copy_kernel kernel;
    for (size_t i = 0; carry_copy_kernel(i, &kernel); i++) {
        if (kernel.missing)
            continue;
        const size_t place =
            add_subject(set, (struct copy_subject){kernel.name, .copy = kernel.copy});
        if (kernel.chosen)
            bench->focus = place;
        if (strcmp(kernel.name, "rep") == 0)
            bench->rep = place;
    }
    bench->kernels_end = set->subject_count;
}

static void add_subjects(struct copy_bench *bench) {
    struct copy_set *set = &bench->memory;
    add_copy_kernels(bench);
    bench->copy = add_subject(set, (struct copy_subject){"copy", .copy = carry_copy});
    bench->copy_try =
        add_subject(set, (struct copy_subject){"try", .copy = AS_COPY(carry_copy_try)});
    bench->sum_copy = add_subject(set, (struct copy_subject){"sum_copy", .work = sum_copy});
    bench->sum_try = add_subject(set, (struct copy_subject){"sum_try", .work = sum_copy_try});
    bench->sum_then_copy =
        add_subject(set, (struct copy_subject){"sum+copy", .work = sum_then_copy});
    bench->stream = add_subject(set, (struct copy_subject){"stream", .copy = carry_copy_stream});
    bench->readv =
        has_system_copy()
            ? add_subject(set, (struct copy_subject){"readv", .work = copy_by_kernel_of_system})
            : COPY_SUBJECTS;

    add_subject(&bench->beside, (struct copy_subject){"nothing", .copy = copy_nothing});
    for (size_t i = 0; i < set->subject_count; i++)
        add_subject(&bench->beside, set->subjects[i]);

    add_subject(&bench->move, (struct copy_subject){"memmove", .copy = AS_COPY(memmove)});
    add_subject(&bench->move, (struct copy_subject){"move", .copy = carry_copy_move});

    add_subject(&bench->pipe, (struct copy_subject){"plain", .work = nothing_more});
    add_subject(&bench->pipe, (struct copy_subject){"sum", .work = sum_of_block});
    add_subject(&bench->pipe, (struct copy_subject){"copy", .work = copy_of_block});
    add_subject(&bench->pipe, (struct copy_subject){"sum+copy", .work = sum_then_copy});
    add_subject(&bench->pipe, (struct copy_subject){"sum_copy", .work = sum_copy});
}

/* --- Memory --- */

static unsigned char *make_area(size_t size) {
    unsigned char *area = aligned_alloc(HUGE_PAGE_BYTES, size);
    if (!area)
        return NULL;
    /* Without huge pages, times of large sizes depend on the pages that this run was given. */
    madvise(area, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < size; i++)
        area[i] = (unsigned char)(i * 7 + (i >> 8));
    return area;
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33);
}

static uint8_t *make_sizes(void) {
    uint8_t *sizes = malloc(MIX_CALLS);
    uint64_t state = 1;
    for (size_t i = 0; sizes && i < MIX_CALLS; i++)
        sizes[i] = (uint8_t)(next_random(&state) % (MIX_MAX + 1));
    return sizes;
}

/* Makes random sizes of 40, 576 and 1,500 bytes in the ratio 7:4:1. */
static uint16_t *make_imix_sizes(void) {
    uint16_t *sizes = malloc(MIX_CALLS * sizeof *sizes);
    uint64_t state = 2;
    for (size_t i = 0; sizes && i < MIX_CALLS; i++) {
        uint32_t pick = next_random(&state) % 12;
        sizes[i] = pick < 7 ? 40 : pick < 11 ? 576 : IMIX_MAX;
    }
    return sizes;
}

bool copy_make_areas(struct copy_bench *bench, size_t size) {
    const size_t whole = (size + PAGE_BYTES + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    bench->source = make_area(whole);
    bench->target = make_area(whole);
    return bench->source && bench->target;
}

bool copy_prepare(struct copy_bench *bench, size_t largest) {
    bench->survives = carry_fault_acquire() == CARRY_OK;
    add_subjects(bench);
    bench->sizes = make_sizes();
    bench->imix_sizes = make_imix_sizes();
    return copy_make_areas(bench, largest > COLD_BYTES ? largest : COLD_BYTES) && bench->sizes &&
           bench->imix_sizes && pipe(bench->pipes) == 0;
}

bool copy_start_flow(struct copy_bench *bench) {
    bench->flowing = flow_open(bench->source);
    if (!bench->flowing)
        return false;
    for (size_t way = 0; way < flow_way_count(bench->flowing); way++)
        add_subject(&bench->flow, (struct copy_subject){.name = flow_ways[way]});
    return true;
}

void copy_release(struct copy_bench *bench) {
    if (bench->flowing)
        flow_close(bench->flowing);
    free(bench->source);
    free(bench->target);
    free(bench->sizes);
    free(bench->imix_sizes);
    struct copy_set *const sets[] = {&bench->memory, &bench->beside, &bench->move, &bench->pipe,
                                     &bench->flow};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        free(sets[i]->cells);
        free(sets[i]->samples);
    }
    if (bench->survives)
        carry_fault_release();
    for (int i = 0; i < 2; i++)
        if (bench->pipes[i] > 0)
            close(bench->pipes[i]);
}

/* --- Verification --- */

static uint32_t run_one(const struct copy_subject *subject, void *dst, const void *src,
                        size_t size) {
    if (subject->work)
        return subject->work(dst, src, size);
    subject->copy(dst, src, size);
    return 0;
}

/* Returns where the target or the source of a cell starts. Both ranges of a move lie in the target
 * area. */
static unsigned char *cell_target(const struct copy_bench *bench, const struct copy_cell *cell) {
    return bench->target + cell->align.target;
}

static unsigned char *cell_source(const struct copy_bench *bench, const struct copy_cell *cell) {
    return (cell->mode == COPY_MOVE ? bench->target : bench->source) + cell->align.source;
}

static bool copies_all_bytes(const struct copy_bench *bench, const struct copy_subject *subject,
                             const struct copy_cell *cell) {
    unsigned char *to = cell_target(bench, cell), *from = cell_source(bench, cell);
    const unsigned char *wanted = bench->source + cell->align.source;
    memset(to, 0, cell->size);
    if (cell->mode == COPY_MOVE)
        memcpy(from, wanted, cell->size);
    run_one(subject, to, from, cell->size);
    return memcmp(to, wanted, cell->size) == 0;
}

/* Returns the name of a subject, from index `first` on, that does not copy correctly; NULL if all
 * do. */
static const char *find_wrong(const struct copy_bench *bench, const struct copy_set *set,
                              size_t first, size_t *size) {
    for (size_t i = 0; i < set->cell_count; i++) {
        *size = set->cells[i].size;
        for (size_t j = first; j < set->subject_count; j++)
            if (!copies_all_bytes(bench, &set->subjects[j], &set->cells[i]))
                return set->subjects[j].name;
    }
    return NULL;
}

const char *copy_find_wrong(const struct copy_bench *bench, size_t *size) {
    const char *wrong = find_wrong(bench, &bench->memory, 0, size);
    wrong = wrong ? wrong : find_wrong(bench, &bench->beside, 1, size);
    wrong = wrong ? wrong : find_wrong(bench, &bench->move, 0, size);
    if (wrong || !bench->flowing)
        return wrong;
    *size = FLOW_BLOCK;
    return flow_find_wrong(bench->flowing);
}

/* --- The loops that are timed --- */

/*
 * Returns where call number `index` of a cell starts. Consecutive places lie apart, and a place is
 * used again only after all others.
 */
static size_t place_of_call(const struct copy_cell *cell, size_t index) {
    const size_t places = cell->stride ? COLD_BYTES / cell->stride : 1;
    return index * PLACE_STEP % places * cell->stride;
}

static uint32_t run_sized(const struct copy_bench *bench, const struct copy_cell *cell,
                          const struct copy_subject *subject, size_t first, size_t calls) {
    unsigned char *to = cell_target(bench, cell);
    const unsigned char *from = cell_source(bench, cell);
    uint32_t total = 0;
    if (subject->copy) {
        for (size_t i = first; i < first + calls; i++)
            subject->copy(to + place_of_call(cell, i), from + place_of_call(cell, i), cell->size);
        return *to;
    }
    for (size_t i = first; i < first + calls; i++)
        total +=
            subject->work(to + place_of_call(cell, i), from + place_of_call(cell, i), cell->size);
    return total;
}

static uint32_t run_mixed(const struct copy_bench *bench, const struct copy_subject *subject,
                          size_t first, size_t calls) {
    uint32_t total = 0;
    for (size_t i = first; i < first + calls; i++)
        total +=
            run_one(subject, bench->target + i * 331 % (MIX_BYTES - MIX_MAX),
                    bench->source + i * 197 % (MIX_BYTES - MIX_MAX), bench->sizes[i % MIX_CALLS]);
    return total + *bench->target;
}

/* Copies beside other work. A cell of size 0 copies the sizes in imix_sizes. */
static uint32_t run_beside_copies(const struct copy_bench *bench, const struct copy_cell *cell,
                                  const struct copy_subject *subject, size_t first, size_t calls) {
    const size_t size = cell->size;
    uint32_t total = 0;
    uint64_t work = 1;
    for (size_t i = first; i < first + calls; i++) {
        const size_t place = size ? 0 : i * 331 % (MIX_BYTES - IMIX_MAX);
        total += run_one(subject, bench->target + place, bench->source + place,
                         size ? size : bench->imix_sizes[i % MIX_CALLS]);
        work = bench_beside(work);
    }
    return total + (uint32_t)work;
}

/* Writes and reads a pipe from one thread, so that no scheduler is timed. */
static uint32_t run_pipe(const struct copy_bench *bench, const struct copy_subject *subject,
                         size_t calls) {
    uint32_t total = 0;
    unsigned char *block = bench->source;
    for (; calls; calls--) {
        if (write(bench->pipes[1], block, FLOW_BLOCK) != (ssize_t)FLOW_BLOCK ||
            read(bench->pipes[0], block, FLOW_BLOCK) != (ssize_t)FLOW_BLOCK)
            return 0;
        total += subject->work(bench->target, block, FLOW_BLOCK);
    }
    return total;
}

uint32_t copy_run_cell(const struct copy_bench *bench, const struct copy_cell *cell,
                       const struct copy_subject *subject, size_t first, size_t calls) {
    return cell->mode == COPY_BESIDE ? run_beside_copies(bench, cell, subject, first, calls)
                                     : run_sized(bench, cell, subject, first, calls);
}

static uint32_t run_copies_beside(const void *context, size_t cell, size_t subject, size_t first,
                                  size_t calls) {
    const struct copy_bench *bench = context;
    return copy_run_cell(bench, &bench->beside.cells[cell], &bench->beside.subjects[subject], first,
                         calls);
}

static uint32_t run_memory(const void *context, size_t cell, size_t subject, size_t first,
                           size_t calls) {
    const struct copy_bench *bench = context;
    const struct copy_subject *chosen = &bench->memory.subjects[subject];
    const struct copy_cell *row = &bench->memory.cells[cell];
    if (row->mode == COPY_MIXED)
        return run_mixed(bench, chosen, first, calls);
    /* Each subject starts at another place: places that a subject has just used are not cold. */
    if (row->stride)
        first += COLD_BYTES / row->stride / bench->memory.subject_count * subject;
    return run_sized(bench, row, chosen, first, calls);
}

static uint32_t run_moves(const void *context, size_t cell, size_t subject, size_t first,
                          size_t calls) {
    const struct copy_bench *bench = context;
    return run_sized(bench, &bench->move.cells[cell], &bench->move.subjects[subject], first, calls);
}

static uint32_t run_through_pipe(const void *context, size_t cell, size_t subject, size_t first,
                                 size_t calls) {
    (void)cell, (void)first;
    const struct copy_bench *bench = context;
    return run_pipe(bench, &bench->pipe.subjects[subject], calls);
}

static uint32_t run_flow(const void *context, size_t cell, size_t subject, size_t first,
                         size_t calls) {
    (void)first;
    const struct copy_bench *bench = context;
    return flow_run(bench->flowing, (enum flow_work)cell, (enum flow_way)subject, calls);
}

/* Returns the number of calls of a sample; 0: as many as fit. The number is fixed where calls
 * differ from each other, so that all subjects make the same calls. */
static size_t calls_in_memory(const void *context, size_t cell) {
    const struct copy_bench *bench = context;
    const struct copy_cell *row = &bench->memory.cells[cell];
    if (row->mode == COPY_MIXED)
        return MIX_SAMPLE;
    if (row->mode == COPY_HOT)
        return 0;
    return COLD_SAMPLE / row->stride + 1;
}

static size_t calls_that_fit(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 0;
}

static bool copy_settles(const void *context, size_t cell) {
    (void)context, (void)cell;
    return true;
}

static void show_copy_progress(size_t done, size_t total) {
    (void)total;
    if (progress_due)
        progress_draw(done);
}

static bool measure_set(struct copy_bench *bench, struct copy_set *set) {
    const size_t rounds = set->plan.rounds;
    set->plan.cells = set->cell_count;
    set->plan.subjects = set->subject_count;
    set->plan.context = bench;
    set->plan.progress = show_copy_progress;
    progress_begin_steps(set->plan.cells * set->plan.rounds);
    set->samples = bench_measure(&set->plan);
    progress_end();
    if (set->samples)
        bench_noise_add_plan(&bench->noise, &set->plan, rounds, set->samples);
    return set->samples != NULL;
}

bool copy_measure(struct copy_bench *bench, const struct copy_effort *effort) {
    const struct bench_plan plan = {
        .rounds = effort->rounds,
        .sample_ns = effort->sample_ns,
        .seconds = effort->seconds / 3,
        .fixed_calls = calls_that_fit,
    };
    bench->memory.plan = bench->beside.plan = bench->move.plan = bench->pipe.plan =
        bench->flow.plan = plan;
    bench->memory.plan.seconds = effort->seconds;
    bench->memory.plan.run = run_memory;
    bench->memory.plan.fixed_calls = calls_in_memory;
    bench->beside.plan.run = run_copies_beside;
    bench->beside.plan.settles = copy_settles;
    bench->move.plan.run = run_moves;
    bench->pipe.plan.run = run_through_pipe;
    bench->flow.plan.run = run_flow;
    bench->flow.plan.sample_ns *= FLOW_SAMPLES;
    return measure_set(bench, &bench->memory) && measure_set(bench, &bench->beside) &&
           measure_set(bench, &bench->move) && measure_set(bench, &bench->pipe) &&
           measure_set(bench, &bench->flow);
}

struct bench_stats copy_stats(const struct copy_set *set, size_t cell, size_t subject) {
    return bench_stats(bench_samples(&set->plan, set->samples, cell, subject), set->plan.rounds);
}

double copy_ratio(const struct copy_set *set, size_t cell, size_t subject, size_t base) {
    return bench_ratio(bench_samples(&set->plan, set->samples, cell, subject),
                       bench_samples(&set->plan, set->samples, cell, base), set->plan.rounds);
}

struct copy_rate copy_rate(const struct copy_set *set, size_t cell, size_t subject) {
    const struct bench_stats ns = copy_stats(set, cell, subject);
    const double bytes = FLOW_BLOCK * 1e3; /* a byte in a nanosecond is 1,000 MB/s */
    return (struct copy_rate){bytes / ns.median, bytes / ns.q3, bytes / ns.q1,
                              (ns.q3 - ns.q1) / 2 / ns.median};
}

double copy_added(const struct copy_set *set, size_t cell, size_t subject) {
    return bench_added(bench_samples(&set->plan, set->samples, cell, subject),
                       bench_samples(&set->plan, set->samples, cell, 0), set->plan.rounds);
}

size_t copy_best(const struct copy_bench *bench, size_t cell) {
    const struct copy_set *set = &bench->memory;
    return copy_stats(set, cell, bench->rep).median < copy_stats(set, cell, bench->memcpy).median
               ? bench->rep
               : bench->memcpy;
}
