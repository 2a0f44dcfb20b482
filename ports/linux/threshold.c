/* SPDX-License-Identifier: MIT */
/*
 * Measures, when the module is loaded, the size from which a vector kernel is faster in spite of
 * its section.
 *
 * The measured sections save no registers, because they are not the first since the thread entered
 * the kernel. The extra cost of the first section depends on the thread's own state.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "carry_module.h"

#define ROUNDS 16
#define CALLS  16

const char *const carry_operation_names[CARRY_OPERATIONS] = {
    [CARRY_SUM] = "sum",
    [CARRY_SUM_COPY] = "sum_copy",
    [CARRY_COPY] = "copy",
    [CARRY_CRC32C] = "crc32c",
};

const char *const carry_table_names[CARRY_TABLES] = {
    [CARRY_SUMS] = "sum",
    [CARRY_COPIES] = "copy",
    [CARRY_CRCS] = "crc32c",
};

enum carry_table carry_operation_table(enum carry_operation operation) {
    static const enum carry_table tables[CARRY_OPERATIONS] = {
        [CARRY_SUM] = CARRY_SUMS,
        [CARRY_SUM_COPY] = CARRY_SUMS,
        [CARRY_COPY] = CARRY_COPIES,
        [CARRY_CRC32C] = CARRY_CRCS,
    };
    return tables[operation];
}

void carry_operate(enum carry_operation operation, void *dst, const void *src, size_t size) {
    switch (operation) {
    case CARRY_SUM:
        carry_sum_call(src, size, 0);
        break;
    case CARRY_SUM_COPY:
        carry_sum_copy(dst, src, size, 0);
        break;
    case CARRY_COPY:
        carry_copy(dst, src, size);
        break;
    default:
        carry_crc32c(src, size, 0);
    }
}

/*
 * Returns the time of the shortest of several rounds in nanoseconds: any other activity of the CPU
 * only adds to it.
 */
static u64 shortest_round(enum carry_operation operation, void *dst, const void *src, size_t size) {
    u64 best = U64_MAX;
    int round, call;

    for (round = 0; round < ROUNDS; round++) {
        u64 start;

        preempt_disable();
        start = ktime_get_ns();
        for (call = 0; call < CALLS; call++)
            carry_operate(operation, dst, src, size);
        best = min(best, ktime_get_ns() - start);
        preempt_enable();
    }
    return best;
}

static bool vectors_win(enum carry_operation operation, void *dst, const void *src, size_t size) {
    u64 scalar, vector;

    carry_thresholds[operation] = SIZE_MAX;
    scalar = shortest_round(operation, dst, src, size);
    carry_thresholds[operation] = 0;
    vector = shortest_round(operation, dst, src, size);
    return vector < scalar;
}

/* Returns the least of the tried sizes from which on vectors win at every tried size, or SIZE_MAX
 * if there is none. */
static size_t measure_threshold(enum carry_operation operation, void *dst, const void *src) {
    static const size_t sizes[] = {4096, 3072, 2048, 1536, 1024, 768, 512, 384, 256, 192, 128, 64};
    size_t least = SIZE_MAX;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(sizes) && vectors_win(operation, dst, src, sizes[i]); i++)
        least = sizes[i];
    return least;
}

static bool has_vectors(int operation) {
    return carry_choices[carry_operation_table(operation)].is_vector;
}

void carry_set_thresholds(size_t bytes) {
    int operation;

    for (operation = 0; operation < CARRY_OPERATIONS; operation++)
        carry_thresholds[operation] = has_vectors(operation) ? bytes : SIZE_MAX;
}

int carry_measure_thresholds(void) {
    void *buffer = kzalloc(2 * CARRY_SECTION_BYTES, GFP_KERNEL);
    int operation;

    if (!buffer)
        return -ENOMEM;
    for (operation = 0; operation < CARRY_OPERATIONS; operation++)
        if (has_vectors(operation))
            carry_thresholds[operation] =
                measure_threshold(operation, buffer, buffer + CARRY_SECTION_BYTES);
    kfree(buffer);
    return 0;
}
