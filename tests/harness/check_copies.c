/* SPDX-License-Identifier: MIT */
#include "harness/check_copies.h"

#include <string.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/rng.h"

#define ALIGNMENTS  64
#define MARGIN      64
#define PAGE_BYTES  4096
#define DENSE_MAX   1024
#define SAMPLED_MAX ((size_t)5 << 20)
#define MANY_BYTES  ((size_t)256 << 10)
#define OVERLAP_MAX 20000

/* A running check. The last call is kept for the message, in case it faults. */
struct trial {
    struct copier copier;
    const struct effort *effort;
    struct verdict verdict;
    size_t size;
    const unsigned char *from;
    unsigned char *to;
};

static bool fail_copy(struct trial *trial, const char *what) {
    return verdict_fail(&trial->verdict, "%s, size %zu, source at %zu, target at %zu of 64", what,
                        trial->size, (size_t)((uintptr_t)trial->from % ALIGNMENTS),
                        (size_t)((uintptr_t)trial->to % ALIGNMENTS));
}

/* Returns whether the fault is less than a page after the end of a range. */
static bool is_behind(const struct fault *fault, const unsigned char *start, size_t size) {
    return fault->address - ((uintptr_t)start + size) < PAGE_BYTES;
}

/* Returns whether the fault is at most a page before the start of a range. */
static bool is_before(const struct fault *fault, const unsigned char *start) {
    return (uintptr_t)start - 1 - fault->address < PAGE_BYTES;
}

static void describe_fault(struct trial *trial, const struct fault *fault) {
    fail_copy(trial, is_behind(fault, trial->to, trial->size)     ? "writes past the end"
                     : is_before(fault, trial->to)                ? "writes before the start"
                     : is_behind(fault, trial->from, trial->size) ? "reads past the end"
                     : is_before(fault, trial->from)              ? "reads before the start"
                                                                  : fault->name);
}

static struct verdict run_copies_trial(struct copier copier, const struct effort *effort,
                                       void (*body)(void *)) {
    struct trial trial = {.copier = copier, .effort = effort, .verdict.ok = true};
    struct fault fault;
    rng_restart();
    if (!fault_catch(body, &trial, &fault))
        describe_fault(&trial, &fault);
    return trial.verdict;
}

static bool copy_checked(struct trial *trial, unsigned char *to, const unsigned char *from,
                         size_t size) {
    trial->size = size;
    trial->from = from;
    trial->to = to;
    trial->verdict.calls++;
    if (trial->copier.copy)
        trial->copier.copy(to, from, size);
    else if (trial->copier.attempt(to, from, size) != 0)
        return fail_copy(trial, "reports bytes left");
    return true;
}

/* --- Values --- */

struct window {
    unsigned char bytes[MARGIN + ALIGNMENTS + SAMPLED_MAX + MARGIN] __attribute__((aligned(64)));
};

static struct window source, target, noise;

static bool copies_right(struct trial *trial, size_t size, size_t from, size_t to) {
    const unsigned char *src = source.bytes + MARGIN + from;
    unsigned char *dst = target.bytes + MARGIN + to;
    memcpy(dst - MARGIN, noise.bytes, size + 2 * MARGIN);
    if (!copy_checked(trial, dst, src, size))
        return false;
    if (memcmp(dst, src, size) != 0)
        return fail_copy(trial, "copies wrongly");
    if (memcmp(dst - MARGIN, noise.bytes, MARGIN) != 0 ||
        memcmp(dst + size, noise.bytes + MARGIN + size, MARGIN) != 0)
        return fail_copy(trial, "writes outside the target");
    return true;
}

static void fill_windows(void) {
    rng_fill(&source, sizeof source);
    rng_fill(&noise, sizeof noise);
}

static void try_values(void *argument) {
    struct trial *trial = argument;
    fill_windows();
    if (!copy_checked(trial, NULL, NULL, 0))
        return;
    for (size_t size = 0; size <= DENSE_MAX; size++)
        for (size_t from = 0; from < ALIGNMENTS; from += trial->effort->stride)
            for (size_t to = 0; to < ALIGNMENTS; to += trial->effort->stride)
                if (effort_takes_pair(trial->effort, size, from, to) &&
                    !copies_right(trial, size, from, to))
                    return;
}

struct verdict check_copies_values(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_values);
}

/*
 * Returns the next size to try. carry_copy_stream() bypasses the caches from 32 KiB on; all other
 * branches are at smaller sizes. Copies of at least MANY_BYTES are slow, so fewer of these sizes
 * are tried, except with effort->all.
 */
static size_t next_sampled(const struct effort *effort, size_t size) {
    const size_t share = size < MANY_BYTES || effort->all ? 200 : 800;
    return size + 1 + rng_below(size * share / effort->rounds + 1);
}

static void try_sampled(void *argument) {
    struct trial *trial = argument;
    fill_windows();
    for (size_t size = DENSE_MAX; size < SAMPLED_MAX; size = next_sampled(trial->effort, size))
        if (!copies_right(trial, size, rng_below(ALIGNMENTS), rng_below(ALIGNMENTS)))
            return;
}

struct verdict check_copies_sampled(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_sampled);
}

/* --- Edges --- */

#define EDGES_MAX 70000

static bool copies_between(struct trial *trial, unsigned char *to, const unsigned char *from,
                           size_t size) {
    memset(to, 0, size);
    return copy_checked(trial, to, from, size) &&
           (memcmp(to, from, size) == 0 || fail_copy(trial, "copies wrongly"));
}

static void try_edges(void *argument) {
    static struct guard from, to;
    struct trial *trial = argument;
    if (!from.start) {
        from = guard_open(EDGES_MAX);
        to = guard_open(EDGES_MAX);
    }
    rng_fill(from.start, (size_t)(from.end - from.start));
    for (size_t size = 0; size <= EDGES_MAX; size = effort_next_size(trial->effort, size))
        if (!copies_between(trial, to.end - size, from.end - size, size) ||
            !copies_between(trial, to.start, from.start, size) ||
            !copies_between(trial, to.end - size, from.start, size) ||
            !copies_between(trial, to.start, from.end - size, size))
            return;
}

struct verdict check_copies_edges(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_edges);
}

/* --- The calling convention --- */

static bool checked_call_copies(struct trial *trial, size_t size, size_t from, size_t to) {
    const bool attempts = trial->copier.attempt != NULL;
    carry_copy_fn *fn =
        attempts ? (carry_copy_fn *)(void (*)(void))trial->copier.attempt : trial->copier.copy;
    trial->size = size;
    trial->from = source.bytes + from;
    trial->to = target.bytes + to;
    memset(trial->to, 0, size);
    uint64_t left = call_checked_copy(fn, trial->to, trial->from, size, &trial->verdict);
    if (!trial->verdict.ok)
        return fail_copy(trial, "in a checked call");
    if (attempts && left != 0)
        return fail_copy(trial, "reports bytes left because of registers that callers do not set");
    return memcmp(trial->to, trial->from, size) == 0 ||
           fail_copy(trial, "relies on registers that callers do not set");
}

static void try_abi(void *argument) {
    struct trial *trial = argument;
    fill_windows();
    for (size_t size = 0; size <= DENSE_MAX; size++)
        for (int i = 0; i < 8; i++)
            if (!checked_call_copies(trial, size, rng_below(ALIGNMENTS), rng_below(ALIGNMENTS)))
                return;
    for (size_t size = DENSE_MAX; size < 1 << 17; size += 1 + rng_below(size / 8))
        if (!checked_call_copies(trial, size, rng_below(ALIGNMENTS), rng_below(ALIGNMENTS)))
            return;
}

struct verdict check_copies_abi(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_abi);
}

void copies_check_all(struct copier copier, const struct effort *effort, const char *name) {
    static const struct {
        const char *name;
        copies_check *check;
    } rows[] = {
        {"values", check_copies_values},
        {"sizes to 5 MiB", check_copies_sampled},
        {"edges", check_copies_edges},
        {"calling convention", check_copies_abi},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verdict verdict = rows[i].check(copier, effort);
        verdict_report(&verdict, "%s: %s", name, rows[i].name);
    }
}

/* --- Moves --- */

/* Fills `target` from `noise`, and checks a move within it. Returns false if the move is wrong. */
static bool moves_right(struct trial *trial, size_t size, size_t from, size_t to) {
    const size_t end = (from > to ? from : to) + size + MARGIN;
    memcpy(target.bytes, noise.bytes, end);
    if (!copy_checked(trial, target.bytes + to, target.bytes + from, size))
        return false;
    if (memcmp(target.bytes + to, noise.bytes + from, size) != 0)
        return fail_copy(trial, "moves wrongly");
    if (memcmp(target.bytes, noise.bytes, to) != 0 ||
        memcmp(target.bytes + to + size, noise.bytes + to + size, end - to - size) != 0)
        return fail_copy(trial, "writes outside the target");
    return true;
}

/* Checks moves to a lower and to a higher address. */
static bool moves_by(struct trial *trial, size_t size, size_t distance, size_t at) {
    return moves_right(trial, size, at + distance, at) &&
           moves_right(trial, size, at, at + distance);
}

static void try_overlaps(void *argument) {
    struct trial *trial = argument;
    const size_t every =
        2 * ALIGNMENTS; /* all smaller distances are tried, larger ones are sampled */
    fill_windows();
    for (size_t size = 0; size <= DENSE_MAX; size += trial->effort->stride)
        for (size_t distance = 0; distance <= size + 1;
             distance += distance < every ? 1 : 1 + rng_below(ALIGNMENTS))
            if (!moves_by(trial, size, distance, MARGIN + rng_below(ALIGNMENTS)))
                return;
    for (size_t i = 0; i < trial->effort->rounds; i++) {
        const size_t size = rng_below(OVERLAP_MAX);
        const size_t distance = rng_below(i & 1 ? size + 1 : ALIGNMENTS);
        if (!moves_by(trial, size, distance, MARGIN + rng_below(ALIGNMENTS)))
            return;
    }
}

struct verdict check_copies_overlaps(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_overlaps);
}

/* Checks a move. Together its two ranges begin after a forbidden page, or end before one. */
static bool moves_between(struct trial *trial, unsigned char *start, size_t size, size_t from,
                          size_t to) {
    memcpy(start, noise.bytes, size + from + to);
    return copy_checked(trial, start + to, start + from, size) &&
           (memcmp(start + to, noise.bytes + from, size) == 0 || fail_copy(trial, "moves wrongly"));
}

static void try_overlap_edges(void *argument) {
    static const size_t distances[] = {1, 13, 64, 300, 5000};
    static struct guard area;
    struct trial *trial = argument;
    if (!area.start)
        area = guard_open(EDGES_MAX);
    fill_windows();
    for (size_t size = 0; size <= OVERLAP_MAX; size = effort_next_size(trial->effort, size))
        for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
            const size_t distance = distances[i];
            unsigned char *last = area.end - size - distance;
            if (!moves_between(trial, area.start, size, 0, distance) ||
                !moves_between(trial, area.start, size, distance, 0) ||
                !moves_between(trial, last, size, 0, distance) ||
                !moves_between(trial, last, size, distance, 0))
                return;
        }
}

struct verdict check_copies_overlap_edges(struct copier copier, const struct effort *effort) {
    return run_copies_trial(copier, effort, try_overlap_edges);
}
