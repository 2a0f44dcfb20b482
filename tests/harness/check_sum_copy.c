/* SPDX-License-Identifier: MIT */
#include "harness/check_sum_copy.h"

#include <string.h>

#include <carry/fault.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/pattern.h"
#include "harness/rng.h"

#define ALIGNMENTS   64
#define DENSE_MAX    1024
#define FEW_MAX      256
#define PATTERN_MAX  4096
#define EDGES_MAX    20000
#define LARGE_MAX    ((3 << 20) + 5)
#define MARGIN_BYTES 64

/* A running check, and the current case for the message. */
struct trial {
    carry_sum_copy_fn *copy;
    sum_copy_iov_fn *copy_iov;
    sum_copy_try_fn *copy_try;
    const struct effort *effort;
    struct verdict verdict;
    const char *labels[3];
    size_t numbers[3];
};

static struct verdict run_sum_copy_trial(struct trial trial, void (*body)(void *)) {
    struct fault fault;
    trial.verdict.ok = true;
    rng_restart();
    if (!fault_catch(body, &trial, &fault))
        verdict_fail(&trial.verdict, "touches what it must not: %s", fault.name);
    for (int i = 0; i < 3 && !trial.verdict.ok; i++)
        verdict_fail(&trial.verdict, ", %s %zu", trial.labels[i], trial.numbers[i]);
    return trial.verdict;
}

static void note_case(struct trial *trial, size_t a, size_t b, size_t c) {
    trial->numbers[0] = a;
    trial->numbers[1] = b;
    trial->numbers[2] = c;
    trial->verdict.calls++;
}

static bool fail_sum_copy_case(struct trial *trial, const char *what) {
    return verdict_fail(&trial->verdict, "%s", what);
}

#define LABELS                                                                                     \
    { "size", "source offset", "target offset" }

static void note_copy(struct trial *trial, const void *dst, const void *src, size_t size) {
    note_case(trial, size, (uintptr_t)src % ALIGNMENTS, (uintptr_t)dst % ALIGNMENTS);
}

struct buffer {
    unsigned char bytes[MARGIN_BYTES + ALIGNMENTS + LARGE_MAX + MARGIN_BYTES]
        __attribute__((aligned(ALIGNMENTS)));
};

static struct buffer source, target;

/* Returns the random previous contents of the target. */
static const struct buffer *noise_buffer(void) {
    static struct buffer bytes;
    static bool filled;
    if (!filled)
        rng_fill(&bytes, sizeof bytes);
    filled = true;
    return &bytes;
}

/* Copies `size` bytes from offset `from` of the source to offset `to` of the target. Checks the
   copy, the bytes around it and the sum. */
static bool copy_case(struct trial *trial, size_t size, size_t from, size_t to, uint32_t seed,
                      uint16_t wanted) {
    const unsigned char *src = source.bytes + MARGIN_BYTES + from;
    unsigned char *dst = target.bytes + MARGIN_BYTES + to;
    const unsigned char *before = noise_buffer()->bytes;

    memcpy(dst - MARGIN_BYTES, before, MARGIN_BYTES + size + MARGIN_BYTES);
    note_copy(trial, dst, src, size);
    uint32_t sum = trial->copy(dst, src, size, seed);
    if (memcmp(dst, src, size))
        return fail_sum_copy_case(trial, "copies wrongly");
    if (memcmp(dst - MARGIN_BYTES, before, MARGIN_BYTES) ||
        memcmp(dst + size, before + MARGIN_BYTES + size, MARGIN_BYTES))
        return fail_sum_copy_case(trial, "writes outside the target");
    return oracle_fold(sum) == wanted || fail_sum_copy_case(trial, "sums wrongly");
}

/* Copies the sizes that the effort selects up to `max`, from offset `from` to every `stride`-th
   offset. */
static bool copy_growing(struct trial *trial, size_t from, size_t max, size_t stride) {
    const uint32_t seed = (uint32_t)rng_next();
    const unsigned char *src = source.bytes + MARGIN_BYTES + from;
    struct oracle oracle = oracle_start(seed);
    size_t next = 0;
    for (size_t size = 0; size <= max; oracle_byte(&oracle, src[size++])) {
        if (size != next && size != max)
            continue;
        for (size_t to = rng_below(stride); to < ALIGNMENTS; to += stride)
            if ((stride == ALIGNMENTS || effort_takes_pair(trial->effort, size, from, to)) &&
                !copy_case(trial, size, from, to, seed, oracle_value(&oracle)))
                return false;
        next = effort_next_size(trial->effort, size);
    }
    return true;
}

static void try_alignments(void *argument) {
    struct trial *trial = argument;
    rng_fill(&source, sizeof source);
    for (size_t from = 0; from < ALIGNMENTS; from += trial->effort->stride)
        if (!copy_growing(trial, from, DENSE_MAX, trial->effort->stride))
            return;
}

struct verdict check_sum_copy_alignments(carry_sum_copy_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy = copy, .effort = effort, .labels = LABELS},
                              try_alignments);
}

/* Sizes at which 32-bit lanes overflow if they are not added up in time, and larger sizes. */
static const size_t large_sizes[] = {0x1ff00, 0x20000, 0x20041, 0x40001, LARGE_MAX};

static bool copy_large(struct trial *trial) {
    for (size_t i = 0; i < sizeof large_sizes / sizeof *large_sizes; i++) {
        const size_t size = large_sizes[i];
        if (size > trial->effort->largest_run)
            return true;
        const size_t from = rng_below(ALIGNMENTS), to = rng_below(ALIGNMENTS);
        const uint32_t seed = (uint32_t)rng_next();
        const uint16_t wanted = oracle_sum(source.bytes + MARGIN_BYTES + from, size, seed);
        if (!copy_case(trial, size, from, to, seed, wanted))
            return false;
    }
    return true;
}

static void try_patterns(void *argument) {
    struct trial *trial = argument;
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        patterns[i].fill(source.bytes, sizeof source.bytes);
        for (int round = 0; round < 4; round++)
            if (!copy_growing(trial, rng_below(ALIGNMENTS), PATTERN_MAX, ALIGNMENTS))
                return;
        if (!copy_large(trial))
            return;
    }
}

struct verdict check_sum_copy_patterns(carry_sum_copy_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy = copy, .effort = effort, .labels = LABELS},
                              try_patterns);
}

static bool copy_between(struct trial *trial, void *dst, const void *src, size_t size) {
    note_copy(trial, dst, src, size);
    uint32_t sum = trial->copy(dst, src, size, 1);
    if (memcmp(dst, src, size))
        return fail_sum_copy_case(trial, "copies wrongly");
    return oracle_fold(sum) == oracle_sum(src, size, 1) ||
           fail_sum_copy_case(trial, "sums wrongly");
}

/* Guarded memory for both sides; the source is random. */
struct sides {
    struct guard from;
    struct guard to;
};

static const struct sides *open_sides(void) {
    static struct sides sides;
    if (!sides.from.start) {
        sides.from = guard_open(EDGES_MAX);
        sides.to = guard_open(EDGES_MAX);
        rng_fill(sides.from.start, (size_t)(sides.from.end - sides.from.start));
    }
    return &sides;
}

static void try_edges(void *argument) {
    struct trial *trial = argument;
    const struct sides *at = open_sides();
    for (size_t size = 0; size <= EDGES_MAX; size = effort_next_size(trial->effort, size))
        if (!copy_between(trial, at->to.end - size, at->from.end - size, size) ||
            !copy_between(trial, at->to.start, at->from.start, size))
            return;
}

struct verdict check_sum_copy_edges(carry_sum_copy_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy = copy, .effort = effort, .labels = LABELS},
                              try_edges);
}

static bool chunks_case(struct trial *trial, size_t size) {
    const unsigned char *src = source.bytes + rng_below(ALIGNMENTS);
    unsigned char *dst = target.bytes + rng_below(ALIGNMENTS);
    const uint32_t seed = (uint32_t)rng_next();
    uint32_t sum = seed;
    size_t at = 0;
    memset(dst, 0, size);
    while (at < size) {
        const size_t left = size - at;
        const size_t chunk = rng_below(left < 200 ? left + 1 : 200);
        sum = carry_sum_combine(sum, trial->copy(dst + at, src + at, chunk, 0), at);
        at += chunk;
    }
    note_copy(trial, dst, src, size);
    if (memcmp(dst, src, size))
        return fail_sum_copy_case(trial, "copies wrongly");
    return oracle_fold(sum) == oracle_sum(src, size, seed) ||
           fail_sum_copy_case(trial, "sums wrongly");
}

static void try_chunks(void *argument) {
    struct trial *trial = argument;
    rng_fill(&source, sizeof source);
    for (size_t i = 0; i < trial->effort->rounds / 10; i++)
        if (!chunks_case(trial, rng_below(PATTERN_MAX)))
            return;
}

struct verdict check_sum_copy_chunks(carry_sum_copy_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy = copy, .effort = effort, .labels = LABELS},
                              try_chunks);
}

static bool abi_case(struct trial *trial, size_t size) {
    const unsigned char *src = source.bytes + rng_below(ALIGNMENTS);
    unsigned char *dst = target.bytes + rng_below(ALIGNMENTS);
    const uint32_t seed = (uint32_t)rng_next();
    note_copy(trial, dst, src, size);
    uint32_t sum = call_checked_sum_copy(trial->copy, dst, src, size, seed, &trial->verdict);
    if (memcmp(dst, src, size))
        return fail_sum_copy_case(trial, "copies wrongly");
    if (oracle_fold(sum) != oracle_sum(src, size, seed))
        return fail_sum_copy_case(trial, "sums wrongly");
    return trial->verdict.ok;
}

static void try_abi(void *argument) {
    struct trial *trial = argument;
    rng_fill(&source, sizeof source);
    for (size_t size = 0; size < 1 << 16; size += size < 300 ? 1 : 1 + rng_below(size / 8))
        for (int round = 0; round < 4; round++)
            if (!abi_case(trial, size))
                return;
}

struct verdict check_sum_copy_abi(carry_sum_copy_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy = copy, .effort = effort, .labels = LABELS},
                              try_abi);
}

struct copy_check_row {
    const char *name;
    sum_copy_check *check;
};

static const struct copy_check_row copy_checks[] = {
    {"alignments", check_sum_copy_alignments},
    {"patterns", check_sum_copy_patterns},
    {"edges", check_sum_copy_edges},
    {"chunks", check_sum_copy_chunks},
    {"calling convention", check_sum_copy_abi},
    {NULL, NULL},
};

void sum_copy_check_all(carry_sum_copy_fn *copy, const struct effort *effort, const char *name) {
    for (const struct copy_check_row *row = copy_checks; row->name; row++) {
        struct verdict verdict = row->check(copy, effort);
        verdict_report(&verdict, "%s: %s", name, row->name);
    }
}

/* --- From slices to slices --- */

#define SLICE_COUNT 12
#define SLICE_MAX   600
#define ARENA_BYTES (SLICE_COUNT * (SLICE_MAX + MARGIN_BYTES))

/* Fills slices that follow each other, less than MARGIN_BYTES apart. Empty slices may have no
   address. Returns the number of slices. */
static size_t random_slices(struct carry_slice *slices, const unsigned char *arena) {
    const size_t count = rng_below(SLICE_COUNT + 1);
    for (size_t i = 0; i < count; i++) {
        const size_t sizes[] = {0, 1, rng_below(32) * 2 + 1, rng_below(32) * 2,
                                rng_below(SLICE_MAX)};
        const size_t size = sizes[rng_below(sizeof sizes / sizeof *sizes)];
        arena += rng_below(MARGIN_BYTES);
        slices[i] = (struct carry_slice){size || rng_below(2) ? arena : NULL, size};
        arena += size;
    }
    return count;
}

static size_t gather_from_slices(const struct carry_slice *slices, size_t count,
                                 unsigned char *flat) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (slices[i].size)
            memcpy(flat + total, slices[i].data, slices[i].size);
        total += slices[i].size;
    }
    return total;
}

/* Writes to `wanted` the expected contents of `arena`, byte by byte. */
static void scatter_to_slices(const struct carry_slice *slices, const unsigned char *flat,
                              size_t size, const unsigned char *arena, unsigned char *wanted) {
    for (size_t done = 0; done < size; slices++)
        for (size_t i = 0; i < slices->size && done < size; i++)
            wanted[(const unsigned char *)slices->data + i - arena] = flat[done++];
}

static bool iov_case(struct trial *trial) {
    static unsigned char flat[ARENA_BYTES], scratch[ARENA_BYTES], wanted[ARENA_BYTES];
    struct carry_slice src[SLICE_COUNT], dst[SLICE_COUNT];
    const size_t src_count = random_slices(src, source.bytes);
    const size_t dst_count = random_slices(dst, target.bytes);
    const size_t held = gather_from_slices(src, src_count, flat),
                 room = gather_from_slices(dst, dst_count, scratch);
    const size_t size = held < room ? held : room;
    const uint32_t seed = rng_below(4) ? (uint32_t)rng_next() : 0;
    uint32_t sum = seed;

    memcpy(target.bytes, noise_buffer()->bytes, ARENA_BYTES);
    memcpy(wanted, noise_buffer()->bytes, ARENA_BYTES);
    scatter_to_slices(dst, flat, size, target.bytes, wanted);
    note_case(trial, src_count, dst_count, size);
    if (trial->copy_iov(dst, dst_count, src, src_count, &sum) != size)
        return fail_sum_copy_case(trial, "counts wrongly");
    if (memcmp(target.bytes, wanted, ARENA_BYTES))
        return fail_sum_copy_case(trial, "copies wrongly");
    return oracle_fold(sum) == oracle_sum(flat, size, seed) ||
           fail_sum_copy_case(trial, "sums wrongly");
}

static void try_iov(void *argument) {
    struct trial *trial = argument;
    rng_fill(source.bytes, ARENA_BYTES);
    for (size_t i = 0; i < trial->effort->rounds; i++)
        if (!iov_case(trial))
            return;
}

struct verdict check_sum_copy_iov(sum_copy_iov_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial((struct trial){.copy_iov = copy,
                                             .effort = effort,
                                             .labels = {"source slices", "target slices", "bytes"}},
                              try_iov);
}

/* --- Faults --- */

/*
 * Copies a run that ends `missing_from` bytes after the end of the source's memory and `missing_to`
 * bytes after the end of the target's memory. Checks the result, the copied bytes and the sum.
 */
static bool try_case(struct trial *trial, size_t size, size_t missing_from, size_t missing_to) {
    const struct sides *at = open_sides();
    const size_t missing = missing_from > missing_to ? missing_from : missing_to;
    const unsigned char *src = at->from.end + missing_from - size;
    unsigned char *dst = at->to.end + missing_to - size;
    const size_t written = size - missing, room = size - missing_to;
    const unsigned char *before = noise_buffer()->bytes;
    const uint32_t seed = (uint32_t)rng_next();
    uint32_t sum = seed;

    memcpy(dst - MARGIN_BYTES, before, MARGIN_BYTES + room);
    note_case(trial, size, missing_from, missing_to);
    if (trial->copy_try(dst, src, size, &sum) != missing)
        return fail_sum_copy_case(trial, "returns the wrong number of bytes left");
    if (memcmp(dst, src, written))
        return fail_sum_copy_case(trial, "does not copy the bytes before the fault");
    if (memcmp(dst - MARGIN_BYTES, before, MARGIN_BYTES) ||
        memcmp(dst + written, before + MARGIN_BYTES + written, room - written))
        return fail_sum_copy_case(trial, "writes outside the target, or after the fault");
    if (missing)
        return true;
    return oracle_fold(sum) == oracle_sum(src, size, seed) ||
           fail_sum_copy_case(trial, "sums wrongly");
}

static bool try_at(struct trial *trial, size_t size, size_t missing) {
    if (!try_case(trial, size, missing, 0) || !try_case(trial, size, 0, missing))
        return false;
    return rng_below(8) || (try_case(trial, size, missing, rng_below(missing + 1)) &&
                            try_case(trial, size, rng_below(missing + 1), missing));
}

/*
 * Returns the next number of missing bytes to try. Up to FEW_MAX bytes, which are two blocks of
 * scalar code, kernels treat each byte differently. Above that, faults anywhere in a vector take
 * the same branch, so one byte of each vector suffices. Masked vectors at both ends are tried at
 * more bytes, because their branch depends on their size.
 */
static size_t next_missing(const struct trial *trial, size_t size, size_t missing) {
    const bool at_end = missing < 64 || size - missing < 64;
    if (trial->effort->stride > 1)
        return missing + (missing < 64 ? 1 : trial->effort->stride);
    return size <= FEW_MAX ? missing + 1 : effort_next(trial->effort, missing, at_end ? 4 : 16);
}

/* Tries every size up to DENSE_MAX that the effort selects. Larger sizes run the same code for more
   vectors, so few are tried. */
static bool try_sizes(struct trial *trial) {
    for (size_t size = 0; size <= DENSE_MAX; size = effort_next_size(trial->effort, size))
        for (size_t missing = 0; missing <= size; missing = next_missing(trial, size, missing))
            if (!try_at(trial, size, missing))
                return false;
    for (size_t i = 0; i < trial->effort->few_rounds; i++) {
        const size_t size = rng_below(EDGES_MAX - MARGIN_BYTES);
        if (!try_at(trial, size, rng_below(size + 1)))
            return false;
    }
    return true;
}

static void try_faults(void *argument) {
    struct trial *trial = argument;
    const bool handled = carry_fault_acquire() == CARRY_OK;
    try_sizes(trial);
    if (handled)
        carry_fault_release();
}

struct verdict check_sum_copy_try(sum_copy_try_fn *copy, const struct effort *effort) {
    return run_sum_copy_trial(
        (struct trial){.copy_try = copy,
                       .effort = effort,
                       .labels = {"size", "missing of the source", "of the target"}},
        try_faults);
}
