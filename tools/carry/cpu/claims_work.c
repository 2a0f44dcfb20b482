/* SPDX-License-Identifier: MIT */
/* Times the works of preferences, with and without each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/thunk.h>
#include <carry/xstate.h>

#include "bench/bench_copy.h"
#include "bench/kernels.h"
#include "bench/xstate_work.h"
#include "common/clock.h"
#include "common/progress.h"
#include "cpu/claims.h"

#define SAMPLE_NS   200e3
#define ROUNDS_MOST 2000
#define COPY_BYTES  ((size_t)1 << 20)

/* The subjects: an empty call, then the ways. */
#define SUBJECTS (1 + CLAIM_WAYS)

struct work_cell {
    struct claim_state *state;
    struct claim_times *times;
    size_t sum;            /* the number of a cell of `sums` */
    struct copy_cell copy; /* a cell of copies */
    uint64_t in_use;       /* components, for thunks */
};

struct measurement {
    struct claims *claims;
    struct work_cell cells[CLAIMS_MAX * CLAIM_WORKS];
    size_t cell_count;
    struct kernels_bench sums;
    struct copy_bench copies;
};

/* --- The ways --- */

/* Writes a mask of the capabilities that the mask in force removes. */
static void write_removed(char *mask) {
    struct carry_cpu_feature feature;
    size_t used = 0;
    mask[0] = 0;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (!feature.is_preference && feature.state == CARRY_CPU_MASKED)
            used += (size_t)snprintf(mask + used, CLAIM_MASK - used, "%s%s", used ? "," : "",
                                     feature.name);
}

static void choose_sum(struct claim_state *state, enum claim_way way) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++) {
        if (kernel.missing || kernel.against)
            continue;
        state->kernels[way] = kernel.name;
        state->sum[way] = kernel.sum;
    }
}

static void choose_copy(struct claim_state *state, enum claim_way way) {
    struct carry_copy_kernel kernel;
    for (size_t i = 0; carry_copy_kernel(i, &kernel); i++) {
        if (kernel.missing || kernel.against)
            continue;
        state->kernels[way] = kernel.name;
        state->copy[way] = kernel.copy;
    }
}

/* Finds out what the library chooses in both ways. Returns false if a way cannot be selected, or
 * both are the same, with the reason in `state`. */
static bool choose_ways(struct claim_state *state, const char *removed) {
    const struct claim *claim = state->claim;
    for (enum claim_way way = CLAIM_WITHOUT; way < CLAIM_WAYS; way++) {
        snprintf(state->masks[way], sizeof state->masks[way], "%s,%s,%s%s", removed, claim->settled,
                 way == CLAIM_WITH ? "+" : "", claim->preference);
        carry_cpu_set_mask(state->masks[way]);
        if (claim->kind == CLAIM_SUM)
            choose_sum(state, way);
        if (claim->kind == CLAIM_COPY)
            choose_copy(state, way);
    }
    if (!carry_cpu_has(claim->preference))
        snprintf(state->reason, CLAIM_REASON,
                 "this CPU lacks the features that it needs, or the mask removes them");
    else if (state->kernels[CLAIM_WITH] &&
             state->kernels[CLAIM_WITH] == state->kernels[CLAIM_WITHOUT])
        snprintf(state->reason, CLAIM_REASON, "with it and without it, the library uses %s",
                 state->kernels[CLAIM_WITH]);
    carry_cpu_set_mask(removed);
    return !state->reason[0];
}

/* --- Cells --- */

static const struct mode *find_sum_mode(const char *name) {
    const struct mode *mode = modes;
    while (strcmp(mode->name, name))
        mode++;
    return mode;
}

static enum copy_mode find_copy_mode(const char *name) {
    enum copy_mode mode = COPY_HOT;
    while (strcmp(copy_modes[mode].name, name))
        mode++;
    return mode;
}

static uint64_t components_in_use(const char *name) {
    return CARRY_XSTATE_BIT(SSE) | (strcmp(name, "AVX") == 0 ? CARRY_XSTATE_BIT(AVX) : 0);
}

static void add_work(struct measurement *all, struct claim_state *state,
                     const struct claim_work *work) {
    struct work_cell *cell = &all->cells[all->cell_count++];
    struct claim_times *times = &state->times[state->time_count++];
    *cell = (struct work_cell){.state = state, .times = times};
    *times = (struct claim_times){.work = work, .beside = strcmp(work->mode, "beside") == 0};
    switch (state->claim->kind) {
    case CLAIM_SUM:
        cell->sum = all->sums.cell_count++;
        all->sums.cells[cell->sum] = (struct cell){
            .mode = find_sum_mode(work->mode), .size = work->size, .align = work->align};
        break;
    case CLAIM_COPY:
        cell->copy = (struct copy_cell){.mode = find_copy_mode(work->mode),
                                        .size = work->size,
                                        .align = {.source = (uint16_t)work->align}};
        break;
    case CLAIM_THUNK:
        cell->in_use = components_in_use(work->mode);
        break;
    }
}

static void add_state(struct measurement *all, const struct carry_cpu_feature *feature,
                      const char *removed) {
    struct claim_state *state = &all->claims->states[all->claims->count++];
    *state = (struct claim_state){
        .name = feature->name,
        .description = feature->description,
        .table = feature->state == CARRY_CPU_PRESENT,
        .claim = claim_of(feature->name),
        .verdict = CLAIM_UNMEASURED,
    };
    if (!state->claim)
        snprintf(state->reason, CLAIM_REASON, "no work shows its effect");
    else if (choose_ways(state, removed))
        for (const struct claim_work *work = state->claim->works; work->title; work++)
            add_work(all, state, work);
}

static void add_states(struct measurement *all) {
    struct carry_cpu_feature feature;
    char *removed = all->claims->mask;
    write_removed(removed);
    carry_cpu_set_mask(removed);
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (feature.is_preference)
            add_state(all, &feature, removed);
}

/* --- Times --- */

static uint32_t run_thunk_way(const struct work_cell *cell, size_t subject, size_t calls) {
    if (!subject)
        return bench_xstate_run_thunk(BENCH_THUNK_CALL, cell->in_use, calls);
    carry_cpu_set_mask(cell->state->masks[subject - 1]);
    carry_thunk_prepare();
    return bench_xstate_run_thunk(BENCH_THUNK_ENTER, cell->in_use, calls);
}

static uint32_t run_work(const void *context, size_t index, size_t subject, size_t first,
                         size_t calls) {
    const struct measurement *all = context;
    const struct work_cell *cell = &all->cells[index];
    const struct claim_state *state = cell->state;
    struct copy_subject copy = {.copy = copy_nothing};
    switch (state->claim->kind) {
    case CLAIM_SUM:
        return kernels_run_cell(&all->sums.cells[cell->sum],
                                subject ? state->sum[subject - 1] : kernels_floor, first, calls);
    case CLAIM_COPY:
        if (subject)
            copy.copy = state->copy[subject - 1];
        return copy_run_cell(&all->copies, &cell->copy, &copy, first, calls);
    default:
        return run_thunk_way(cell, subject, calls);
    }
}

static size_t calls_of_work(const void *context, size_t index) {
    const struct measurement *all = context;
    const struct work_cell *cell = &all->cells[index];
    return cell->state->claim->kind == CLAIM_SUM ? all->sums.cells[cell->sum].mode->sample_calls
                                                 : 0;
}

static bool work_settles(const void *context, size_t index) {
    const struct measurement *all = context;
    return all->cells[index].times->beside;
}

static int64_t measuring_since;

/* Shows the share of the time, which ends the measurement before the rounds do. */
static void show_claim_progress(size_t done, size_t total) {
    (void)done, (void)total;
    if (progress_due)
        progress_draw((uint64_t)(clock_ns() - measuring_since));
}

static void keep_times(struct measurement *all, const struct bench_plan *plan) {
    for (size_t i = 0; i < all->cell_count; i++) {
        struct claim_times *times = all->cells[i].times;
        const double *floor = bench_samples(plan, all->claims->samples, i, 0);
        for (size_t way = 0; way < CLAIM_WAYS; way++) {
            times->samples[way] = bench_samples(plan, all->claims->samples, i, 1 + way);
            times->ns[way] = bench_stats(times->samples[way], plan->rounds).median;
            times->added[way] = bench_added(times->samples[way], floor, plan->rounds);
        }
    }
}

static bool time_works(struct measurement *all) {
    struct claims *claims = all->claims;
    struct bench_plan plan = {
        .cells = all->cell_count,
        .subjects = SUBJECTS,
        .rounds = ROUNDS_MOST,
        .sample_ns = SAMPLE_NS,
        .seconds = claims->seconds,
        .run = run_work,
        .fixed_calls = calls_of_work,
        .context = all,
        .settles = work_settles,
        .progress = show_claim_progress,
    };
    measuring_since = clock_ns();
    progress_begin_steps((uint64_t)(claims->seconds * CLOCK_SECOND));
    claims->samples = bench_measure(&plan);
    progress_end();
    claims->rounds = plan.rounds;
    if (claims->samples)
        keep_times(all, &plan);
    return claims->samples != NULL;
}

static bool measure_all(struct measurement *all) {
    all->sums.cells = calloc(CLAIMS_MAX * CLAIM_WORKS, sizeof *all->sums.cells);
    if (!all->sums.cells)
        return false;
    add_states(all);
    return all->cell_count == 0 || (kernels_prepare(&all->sums) &&
                                    copy_make_areas(&all->copies, COPY_BYTES) && time_works(all));
}

bool claims_measure(struct claims *claims) {
    struct measurement *all = calloc(1, sizeof *all);
    if (!all)
        return false;
    all->claims = claims;
    all->copies.pipes[0] = all->copies.pipes[1] = -1;
    const bool ok = measure_all(all);
    if (ok)
        claims_judge(claims);
    kernels_release(&all->sums);
    copy_release(&all->copies);
    free(all);
    return ok;
}

void claims_release(struct claims *claims) {
    free(claims->samples);
}
