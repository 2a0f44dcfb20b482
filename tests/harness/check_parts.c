/* SPDX-License-Identifier: MIT */
#include "harness/check_parts.h"

#include <string.h>

#include "harness/fault.h"
#include "harness/oracle.h"
#include "harness/rng.h"

/* A running check: the function, and the current case for the message. */
struct trial {
    iov_fn *iov;
    combine_fn *combine;
    burst_fn *burst;
    update_fn *update;
    size_t field_size;
    const struct effort *effort;
    struct verdict verdict;
    const char *labels[3];
    size_t numbers[3];
};

static void describe_case(struct trial *trial) {
    for (int i = 0; i < 3 && trial->labels[i]; i++)
        verdict_fail(&trial->verdict, ", %s %zu", trial->labels[i], trial->numbers[i]);
}

static struct verdict run_parts_trial(struct trial trial, void (*body)(void *)) {
    struct fault fault;
    trial.verdict.ok = true;
    rng_restart();
    if (!fault_catch(body, &trial, &fault))
        verdict_fail(&trial.verdict, "touches what it must not: %s", fault.name);
    if (!trial.verdict.ok)
        describe_case(&trial);
    return trial.verdict;
}

static void note_case(struct trial *trial, size_t a, size_t b, size_t c) {
    trial->numbers[0] = a;
    trial->numbers[1] = b;
    trial->numbers[2] = c;
}

static bool fail_parts_case(struct trial *trial, const char *what) {
    return verdict_fail(&trial->verdict, "%s", what);
}

#define ARENA_BYTES 8192
#define SLICE_COUNT 12
#define SLICE_MAX   600
#define OVERSHOOT   10 /* skips and random sizes end less than this after the last slice */

/* Returns 0, 1, a random odd or even size below 64, or any size below SLICE_MAX. */
static size_t random_slice_size(void) {
    const size_t sizes[] = {0, 1, rng_below(32) * 2 + 1, rng_below(32) * 2, rng_below(SLICE_MAX)};
    return sizes[rng_below(sizeof sizes / sizeof *sizes)];
}

static struct carry_slice random_slice(const unsigned char *arena) {
    size_t size = random_slice_size();
    const unsigned char *data = arena + rng_below(ARENA_BYTES - SLICE_MAX);
    return (struct carry_slice){size || rng_below(2) ? data : NULL, size};
}

static size_t gather_slices(const struct carry_slice *slices, size_t count, unsigned char *flat) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (slices[i].size)
            memcpy(flat + total, slices[i].data, slices[i].size);
        total += slices[i].size;
    }
    return total;
}

static bool iov_case(struct trial *trial, const unsigned char *arena) {
    struct carry_slice slices[SLICE_COUNT];
    unsigned char flat[SLICE_COUNT * SLICE_MAX];
    const size_t count = rng_below(SLICE_COUNT + 1);
    for (size_t i = 0; i < count; i++)
        slices[i] = random_slice(arena);
    const size_t total = gather_slices(slices, count, flat);
    const size_t skip = rng_below(4) ? rng_below(total + OVERSHOOT) : 0;
    const size_t size = rng_below(4) ? rng_below(total + OVERSHOOT) : SIZE_MAX;
    const uint32_t seed = rng_below(4) ? (uint32_t)rng_next() : 0;

    note_case(trial, count, skip, size);
    uint32_t sum = trial->iov(slices, count, skip, size, seed);
    const size_t start = skip < total ? skip : total;
    const size_t part = size < total - start ? size : total - start;
    return oracle_fold(sum) == oracle_sum(flat + start, part, seed) ||
           fail_parts_case(trial, "sums wrongly");
}

static void try_iov(void *argument) {
    struct trial *trial = argument;
    unsigned char arena[ARENA_BYTES];
    rng_fill(arena, sizeof arena);
    for (size_t i = 0; i < trial->effort->rounds; i++)
        if (!iov_case(trial, arena))
            return;
}

struct verdict check_iov(iov_fn *iov, const struct effort *effort) {
    return run_parts_trial(
        (struct trial){.iov = iov, .effort = effort, .labels = {"slices", "skip", "size"}},
        try_iov);
}

#define COMBINE_MAX 130

static bool combine_case(struct trial *trial, const unsigned char *data, size_t size,
                         size_t split) {
    const uint32_t seed = (uint32_t)rng_next();
    note_case(trial, size, split, seed);
    uint32_t a = carry_sum_call(data, split, seed);
    uint32_t b = carry_sum_call(data + split, size - split, 0);
    return oracle_fold(trial->combine(a, b, split)) == oracle_sum(data, size, seed) ||
           fail_parts_case(trial, "sums wrongly");
}

static void try_combine(void *argument) {
    struct trial *trial = argument;
    unsigned char data[COMBINE_MAX];
    for (size_t size = 0; size <= COMBINE_MAX; size++) {
        rng_fill(data, size);
        for (size_t split = 0; split <= size; split++)
            if (!combine_case(trial, data, size, split))
                return;
    }
    memset(data, 0, sizeof data);
    if (trial->combine(0, 0, 1) != 0)
        fail_parts_case(trial, "returns another sum for zeros");
}

struct verdict check_combine(combine_fn *combine, const struct effort *effort) {
    return run_parts_trial(
        (struct trial){.combine = combine, .effort = effort, .labels = {"size", "offset", "seed"}},
        try_combine);
}

#define BURST_MAX 40
#define CANARY    0x5ca1ab1e

static bool burst_case(struct trial *trial, const unsigned char *arena) {
    struct carry_slice slices[BURST_MAX];
    uint32_t seeds[BURST_MAX], sums[BURST_MAX + 1];
    const size_t count = rng_below(BURST_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        slices[i] = random_slice(arena);
        seeds[i] = sums[i] = (uint32_t)rng_next();
    }
    sums[count] = CANARY;
    note_case(trial, count, 0, 0);
    trial->burst(slices, count, sums);
    for (size_t i = 0; i < count; i++) {
        note_case(trial, count, i, slices[i].size);
        if (oracle_fold(sums[i]) != oracle_sum(slices[i].data, slices[i].size, seeds[i]))
            return fail_parts_case(trial, "sums wrongly");
    }
    return sums[count] == CANARY || fail_parts_case(trial, "writes beyond the last sum");
}

static void try_burst(void *argument) {
    struct trial *trial = argument;
    unsigned char arena[ARENA_BYTES];
    rng_fill(arena, sizeof arena);
    for (size_t i = 0; i < trial->effort->rounds / 10; i++)
        if (!burst_case(trial, arena))
            return;
}

struct verdict check_burst(burst_fn *burst, const struct effort *effort) {
    return run_parts_trial(
        (struct trial){.burst = burst, .effort = effort, .labels = {"packets", "packet", "size"}},
        try_burst);
}

#define HEADER_WORDS 30
#define CHECK_WORD   5 /* the word of the checksum in the header */
#define FIELD_WORD   8 /* the first word of the changed field */
#define FIELD_MAX    32

/* Sets one word so that the whole header sums to 0xffff: its checksum is then 0x0000. */
static void force_zero_checksum(uint16_t *header, size_t word) {
    header[word] = 0;
    header[word] = (uint16_t)~oracle_sum(header, HEADER_WORDS * 2, 0);
}

static bool update_case(struct trial *trial, bool zero_before, bool zero_after) {
    uint16_t header[HEADER_WORDS];
    unsigned char from[FIELD_MAX], to[FIELD_MAX];
    const size_t size = trial->field_size ? trial->field_size : rng_below(FIELD_MAX / 2 + 1) * 2;

    rng_fill(header, sizeof header);
    header[CHECK_WORD] = 0;
    if (zero_before)
        force_zero_checksum(header, 0);
    const uint16_t before = (uint16_t)~oracle_sum(header, sizeof header, 0);
    memcpy(from, header + FIELD_WORD, size);

    rng_fill(header + FIELD_WORD, size);
    if (zero_after && size)
        force_zero_checksum(header, FIELD_WORD);
    const uint16_t after = (uint16_t)~oracle_sum(header, sizeof header, 0);
    memcpy(to, header + FIELD_WORD, size);

    note_case(trial, size, before, after);
    return trial->update(before, from, to, size) == after ||
           fail_parts_case(trial, "not as recomputed");
}

static void try_update(void *argument) {
    struct trial *trial = argument;
    for (size_t i = 0; i < trial->effort->rounds; i++)
        if (!update_case(trial, i & 1, i & 2))
            return;
}

struct verdict check_update(update_fn *update, size_t size, const struct effort *effort) {
    return run_parts_trial((struct trial){.update = update,
                                          .field_size = size,
                                          .effort = effort,
                                          .labels = {"bytes", "checksum before", "after"}},
                           try_update);
}
