/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>

#include "copy/copy_internal.h"
#include "harness/check_copies.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/recover.h"
#include "harness/rng.h"

#define DENSE_MAX  1024
#define ALIGNMENTS 64
#define MARGIN     64
#define LAST_FEW   300
#define PAGE_BYTES ((size_t)4096)
#define PAGES      ((size_t)16)
#define AREA_BYTES (PAGES * PAGE_BYTES)

/* Memory for both ranges, each between forbidden pages; the initial and the expected contents of
   the target. */
static struct guard source, target;
static unsigned char pristine[AREA_BYTES], expected[AREA_BYTES];

struct trial {
    carry_copy_try_fn *attempt;
    const struct effort *effort;
    struct verdict verdict;
    const char *where;
    size_t size;
    size_t good;   /* bytes before the first faulting one */
    uintptr_t tag; /* set in both addresses */
};

static bool fail_attempt(struct trial *trial, const char *what, size_t got, size_t wanted) {
    return verdict_fail(&trial->verdict, "%s %zu, not %zu, in %zu bytes with a fault at %zu of %s",
                        what, got, wanted, trial->size, trial->good, trial->where);
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t size) {
    size_t i = 0;
    while (i < size && a[i] == b[i])
        i++;
    return i;
}

/*
 * Copies between offsets of both areas. Checks the number of bytes left, the number of signals, and
 * that no store crosses the end of a page. The offsets may be negative or beyond the ends. `good`
 * bytes can be copied.
 */
static bool attempt_leaves(struct trial *trial, ptrdiff_t to, ptrdiff_t from, size_t size,
                           size_t good, unsigned most_signals) {
    const unsigned before = recover_count, parts = recover_parts;
    trial->size = size;
    trial->good = good;
    size_t left = trial->attempt((void *)((uintptr_t)(target.start + to) | trial->tag),
                                 (void *)((uintptr_t)(source.start + from) | trial->tag), size);
    if (left != size - good)
        return fail_attempt(trial, "reports as bytes left", left, size - good);
    if (recover_count - before > most_signals)
        return fail_attempt(trial, "raises signals,", recover_count - before, most_signals);
    if (recover_parts != parts)
        return fail_attempt(trial, "crosses the end of a page with stores, times",
                            recover_parts - parts, 0);
    return true;
}

/* Checks that the target is unchanged, except `good` bytes from the source. Restores the target. */
static bool target_holds(struct trial *trial, ptrdiff_t to, ptrdiff_t from, size_t good, size_t low,
                         size_t high) {
    memcpy(expected + low, pristine + low, high - low);
    if (good)
        memcpy(expected + to, source.start + from, good);
    bool ok = memcmp(expected + low, target.start + low, high - low) == 0;
    if (!ok)
        fail_attempt(trial, "target differs at offset",
                     low + first_difference(expected + low, target.start + low, high - low) -
                         (size_t)to,
                     good);
    memcpy(target.start + low, pristine + low, high - low);
    return ok;
}

/* Return the bounds of the checked bytes around a run within one area. */
static size_t low_end(size_t at) {
    return at > MARGIN ? at - MARGIN : 0;
}

static size_t high_end(size_t at) {
    return at + MARGIN < AREA_BYTES ? at + MARGIN : AREA_BYTES;
}

/* Tries copies where the page after the source faults, then copies where the page after the target
   faults. */
static bool fault_behind(struct trial *trial, size_t size, size_t good) {
    const size_t at = (size + good) % ALIGNMENTS + MARGIN;
    const ptrdiff_t last = (ptrdiff_t)(AREA_BYTES - good);
    trial->where = "the source";
    if (!attempt_leaves(trial, (ptrdiff_t)at, last, size, good, 1) ||
        !target_holds(trial, (ptrdiff_t)at, last, good, low_end(at), high_end(at + size)))
        return false;
    trial->where = "the target";
    return attempt_leaves(trial, last, (ptrdiff_t)at, size, good, 1) &&
           target_holds(trial, last, (ptrdiff_t)at, good, low_end((size_t)last), AREA_BYTES);
}

/* Tries copies whose first byte faults; `reach` bytes are after the faulting page. */
static bool fault_before(struct trial *trial, size_t size, size_t reach) {
    const size_t at = (size + reach) % ALIGNMENTS + MARGIN;
    const ptrdiff_t first = (ptrdiff_t)reach - (ptrdiff_t)size;
    trial->where = "the source, the page before";
    if (!attempt_leaves(trial, (ptrdiff_t)at, first, size, 0, 1) ||
        !target_holds(trial, (ptrdiff_t)at, 0, 0, low_end(at), high_end(at + size)))
        return false;
    trial->where = "the target, the page before";
    return attempt_leaves(trial, first, (ptrdiff_t)at, size, 0, 1) &&
           target_holds(trial, 0, 0, 0, 0, high_end(reach));
}

/*
 * Tries faults at each byte of sizes below 200, where kernels treat each byte differently. From 200
 * on, some bytes of each vector suffice, because faults anywhere in a vector take the same branch.
 */
static bool try_each_byte(struct trial *trial) {
    const size_t step = 200000 / trial->effort->rounds + 1;
    const size_t apart =
        trial->effort->stride > 1 ? 1 : 4; /* if few sizes are tried, each is tried at all bytes */
    for (size_t size = 1; size <= DENSE_MAX; size += size < 200 ? 1 : step)
        for (size_t good = 0; good < size;
             good = size < 200 ? good + 1 : effort_next(trial->effort, good, apart))
            if (!fault_behind(trial, size, good) || !fault_before(trial, size, good))
                return false;
    return true;
}

/* Tries copies whose source and target both end early, so that two different instructions of a
   kernel fault one after the other. */
static bool try_both(struct trial *trial) {
    trial->where = "source or target";
    for (size_t i = 0; i < trial->effort->few_rounds; i++) {
        const size_t from_good = rng_below(DENSE_MAX), to_good = rng_below(DENSE_MAX);
        const size_t good = from_good < to_good ? from_good : to_good;
        const size_t size = (from_good > to_good ? from_good : to_good) + 1 + rng_below(100);
        const ptrdiff_t to = (ptrdiff_t)(AREA_BYTES - to_good);
        const ptrdiff_t from = (ptrdiff_t)(AREA_BYTES - from_good);
        if (!attempt_leaves(trial, to, from, size, good, 2) ||
            !target_holds(trial, to, from, good, low_end((size_t)to), AREA_BYTES))
            return false;
    }
    return true;
}

static void protect_page(struct guard *area, size_t page, int protection) {
    mprotect(area->start + page * PAGE_BYTES, PAGE_BYTES, protection);
}

/* Tries a copy where two pages fault: page `first` and a random one that is not before it. The
   bytes between them are accessible. */
static bool pages_fault(struct trial *trial, struct guard *area, size_t first, int protection) {
    const size_t from = rng_below(first * PAGE_BYTES), to = rng_below(first * PAGE_BYTES);
    const size_t start = area == &source ? from : to;
    const size_t good = first * PAGE_BYTES - start;
    const size_t most = AREA_BYTES - (from > to ? from : to);
    const size_t size = good + (most > good ? rng_below(most - good) + 1 : 0);
    if (most <= good)
        return true;
    const size_t other = first + rng_below(PAGES - first);
    protect_page(area, first, protection);
    protect_page(area, other, protection);
    bool ok = attempt_leaves(trial, (ptrdiff_t)to, (ptrdiff_t)from, size, good, 1);
    protect_page(area, first, PROT_READ | PROT_WRITE);
    protect_page(area, other, PROT_READ | PROT_WRITE);
    return target_holds(trial, (ptrdiff_t)to, (ptrdiff_t)from, good, low_end(to),
                        high_end(to + size)) &&
           ok;
}

static bool try_pages(struct trial *trial) {
    for (size_t i = 0; i < trial->effort->few_rounds / 4; i++) {
        const size_t first = 1 + rng_below(rng_next() & 1 ? 2 : PAGES - 1);
        trial->where = "pages of the source";
        if (!pages_fault(trial, &source, first, PROT_NONE))
            return false;
        trial->where = "pages of the target";
        if (!pages_fault(trial, &target, first, i & 1 ? PROT_READ : PROT_NONE))
            return false;
    }
    return true;
}

/* Tries slightly more than a page: kernels change from one loop to another there. */
static bool try_page_and_more(struct trial *trial) {
    for (size_t i = 0; i < trial->effort->few_rounds / 2; i++) {
        const size_t size = PAGE_BYTES + 1 + rng_below(200);
        if (!fault_behind(trial, size, rng_below(size)))
            return false;
    }
    return true;
}

/* Checks that a tag in the addresses changes nothing, not even the number of signals. */
static bool try_tagged(struct trial *trial) {
    bool ok = true;
    trial->tag = recover_tag;
    for (size_t i = 0; i < trial->effort->few_rounds / 4 && ok; i++) {
        const size_t size = 1 + rng_below(200);
        ok = fault_behind(trial, size, rng_below(size));
    }
    trial->tag = 0;
    return ok;
}

/* Tries faults whose page the handler does not report: kernels then try the bytes one by one, and
   raise another signal. */
static bool try_silent(struct trial *trial) {
    trial->where = "the source, whose page is not reported";
    recover_tells_page = false;
    bool ok = true;
    for (size_t i = 0; i < trial->effort->few_rounds && ok; i++) {
        const size_t good = rng_below(DENSE_MAX);
        const ptrdiff_t from = (ptrdiff_t)(AREA_BYTES - good);
        ok = attempt_leaves(trial, MARGIN, from, good + 1 + rng_below(DENSE_MAX), good, 2) &&
             target_holds(trial, MARGIN, from, good, 0, 3 * DENSE_MAX);
    }
    recover_tells_page = true;
    return ok;
}

/*
 * Makes the page accessible after the first fault. Kernels may continue or give up, but the bytes
 * that they report as copied must be copied, and no byte after them may be written.
 */
static bool page_comes_back(struct trial *trial, struct guard *area) {
    const size_t at = PAGE_BYTES - 1 - rng_below(DENSE_MAX), good = PAGE_BYTES - at;
    const size_t size = good + 1 + rng_below(2 * PAGE_BYTES);
    protect_page(area, 1, PROT_NONE);
    size_t left = trial->attempt(target.start + at, source.start + at, size);
    protect_page(area, 1, PROT_READ | PROT_WRITE);
    trial->size = size;
    trial->good = good;
    if (left > size - good)
        return fail_attempt(trial, "reports as bytes left", left, size - good);
    return target_holds(trial, (ptrdiff_t)at, (ptrdiff_t)at, size - left, low_end(at),
                        high_end(at + size));
}

static bool try_passing(struct trial *trial) {
    bool ok = true;
    recover_tells_page = false;
    recover_opens_page = true;
    for (size_t i = 0; i < trial->effort->few_rounds / 4 && ok; i++) {
        trial->where = "the source, which becomes accessible";
        ok = page_comes_back(trial, &source);
        trial->where = "the target, which becomes accessible";
        ok = ok && page_comes_back(trial, &target);
    }
    recover_opens_page = false;
    recover_tells_page = true;
    return ok;
}

/* Tries sizes whose lower 32 bits are small, or 0. */
static bool try_huge(struct trial *trial) {
    trial->where = "the source, which is too short by 4 GiB";
    for (size_t few = 0; few <= LAST_FEW; few++) {
        const size_t good = rng_below(DENSE_MAX);
        const ptrdiff_t from = (ptrdiff_t)(AREA_BYTES - good);
        if (!attempt_leaves(trial, MARGIN, from, (size_t)UINT32_MAX + 1 + few, good, 1) ||
            !target_holds(trial, MARGIN, from, good, 0, 3 * DENSE_MAX))
            return false;
    }
    return true;
}

static void try_faults(void *argument) {
    struct trial *trial = argument;
    recover_begin();
    (void)(try_each_byte(trial) && try_both(trial) && try_pages(trial) &&
           try_page_and_more(trial) && try_tagged(trial) && try_silent(trial) &&
           try_passing(trial) && try_huge(trial));
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

struct verdict check_copies_faults(struct copier copier, const struct effort *effort) {
    struct trial trial = {.attempt = copier.attempt, .effort = effort, .verdict.ok = true};
    struct fault fault;
    rng_restart();
    open_areas();
    if (!fault_catch(try_faults, &trial, &fault))
        verdict_fail(&trial.verdict, "%s in %zu bytes with a fault at %zu of %s", fault.name,
                     trial.size, trial.good, trial.where);
    return trial.verdict;
}
