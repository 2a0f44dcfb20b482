/* SPDX-License-Identifier: MIT */
/* Checks copies whose pages are removed between any two instructions, as another process may do. */
#include <string.h>
#include <sys/mman.h>

#include "copy/copy_internal.h"
#include "harness/check_copies.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/recover.h"
#include "harness/rng.h"
#include "harness/step.h"

#define DENSE_MAX  136
#define PAGE_BYTES ((size_t)4096)
#define PAGES      ((size_t)8)
#define AREA_BYTES (PAGES * PAGE_BYTES)
#define STEPS_MAX  400 /* at level long; later steps repeat bytes or vectors */
#define STEPS_TWO  160 /* two iterations of any loop, and the code after it */
#define STEPS_FEW  60

static struct guard source, target;
static unsigned char pristine[AREA_BYTES];

/* The pages that are removed: all pages of an area from `page` on. */
static struct {
    const struct guard *area;
    size_t page;
} taken;

struct trial {
    carry_copy_try_fn *attempt;
    size_t stride; /* a larger stride leaves out fewer steps */
    size_t steps;  /* the last step to try */
    size_t share;  /* a larger share leaves out fewer sizes */
    struct verdict verdict;
    size_t size, to, from; /* the size, and the offsets in both areas */
    size_t step;           /* the instruction before which the race happens */
};

static void protect_taken(int protection) {
    mprotect(taken.area->start + taken.page * PAGE_BYTES, AREA_BYTES - taken.page * PAGE_BYTES,
             protection);
}

/* Removes the pages. The target remains readable, so that its contents can be checked. */
static void take_pages(void) {
    protect_taken(taken.area == &source ? PROT_NONE : PROT_READ);
}

static bool fail_race(struct trial *trial, const char *what, size_t got) {
    return verdict_fail(
        &trial->verdict,
        "%s %zu, in %zu bytes from offset %zu to %zu, %s taken from page %zu on at step %zu", what,
        got, trial->size, trial->from, trial->to,
        taken.area == &source ? "the source" : "the target", taken.page, trial->step);
}

/*
 * Returns the offset of the first byte of the target's area that differs from the result of `done`
 * copied bytes, or the area's size.
 */
static size_t first_wrong(const struct trial *trial, size_t done) {
    size_t i = 0;
    while (i < AREA_BYTES) {
        const bool copied = i - trial->to < done;
        if (target.start[i] != (copied ? source.start[i - trial->to + trial->from] : pristine[i]))
            break;
        i++;
    }
    return i;
}

/* Returns the number of bytes that were never removed: at least these must be copied. */
static size_t bytes_before(const struct trial *trial) {
    const size_t start = taken.area == &source ? trial->from : trial->to;
    const size_t end = taken.page * PAGE_BYTES;
    const size_t before = end > start ? end - start : 0;
    return before < trial->size ? before : trial->size;
}

/* Runs one race and checks its result. Stores in *reached whether the copy was long enough to reach
   the step of the race. */
static bool race_once(struct trial *trial, bool *reached) {
    step_begin(trial->step, take_pages);
    const size_t left =
        trial->attempt(target.start + trial->to, source.start + trial->from, trial->size);
    *reached = step_end();
    protect_taken(PROT_READ | PROT_WRITE);
    const bool exact = left <= trial->size - bytes_before(trial);
    const size_t wrong = first_wrong(trial, trial->size - left);
    memcpy(target.start, pristine, AREA_BYTES);
    return (exact || fail_race(trial, "reports as bytes left", left)) &&
           (wrong == AREA_BYTES || fail_race(trial, "target differs at byte", wrong));
}

/* Returns an offset at, or less than `size` + 64 bytes before, the end of the first page. */
static size_t random_offset(size_t size) {
    return PAGE_BYTES - rng_below((size < PAGE_BYTES - 64 ? size : PAGE_BYTES - 64) + 64);
}

static void choose_race(struct trial *trial) {
    trial->from = random_offset(trial->size);
    trial->to = random_offset(trial->size);
    taken.area = rng_next() & 1 ? &source : &target;
    taken.page = rng_below(2 + trial->size / PAGE_BYTES);
    recover_tells_page = rng_next() & 1;
    recover_opens_page = rng_below(4) == 0;
}

/* Returns the next step. Traps are slow, so some instructions may be left out. */
static size_t next_step(const struct trial *trial) {
    return trial->step + 1 + rng_below(trial->step / trial->stride + 1);
}

static bool try_size(struct trial *trial, size_t size, size_t steps) {
    bool ok = true, reached = true;
    trial->size = size;
    for (trial->step = 1; ok && reached && trial->step <= steps; trial->step = next_step(trial)) {
        choose_race(trial);
        ok = race_once(trial, &reached);
    }
    return ok;
}

/* Tries sizes up to DENSE_MAX: they take a dozen branches, each with several sizes. Then tries
   larger sizes. */
static void try_races(void *argument) {
    static const size_t larger[] = {160, 200, 256, 257, 300, 400, 513, 600, 1030};
    struct trial *trial = argument;
    bool ok = true;
    recover_begin();
    for (size_t size = 1; ok && size <= DENSE_MAX; size += 1 + rng_below(size / trial->share + 1))
        ok = try_size(trial, size, trial->steps);
    for (size_t i = 0; ok && i < sizeof larger / sizeof *larger; i++)
        ok = try_size(trial, larger[i], trial->steps);
    for (size_t i = 0; ok && i < trial->stride; i++)
        ok = try_size(trial, 2000 + rng_below(20000), STEPS_FEW);
    recover_opens_page = false;
    recover_tells_page = true;
    recover_end();
}

static void open_areas(void) {
    if (source.start)
        return;
    source = guard_open(AREA_BYTES);
    target = guard_open(AREA_BYTES);
    rng_fill(source.start, AREA_BYTES);
    rng_fill(pristine, AREA_BYTES);
    memcpy(target.start, pristine, AREA_BYTES);
}

struct verdict check_copies_races(struct copier copier, const struct effort *effort) {
    struct trial trial = {.attempt = copier.attempt,
                          .stride = effort->rounds / (effort->all ? 2500 : 5000) + 1,
                          .steps = effort->all ? STEPS_MAX : STEPS_TWO,
                          .share = effort->all ? 8 : 4,
                          .verdict.ok = true};
    struct fault fault;
    rng_restart();
    open_areas();
    if (!fault_catch(try_races, &trial, &fault))
        verdict_fail(&trial.verdict, "%s in %zu bytes, with a race at step %zu", fault.name,
                     trial.size, trial.step);
    return trial.verdict;
}
