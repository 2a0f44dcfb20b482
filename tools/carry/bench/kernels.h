/* SPDX-License-Identifier: MIT */
/* Times the kernels of one table, for `carry bench sum` and `carry bench crc`. */
#ifndef CARRY_TOOLS_BENCH_KERNELS_H
#define CARRY_TOOLS_BENCH_KERNELS_H

#include <stdbool.h>

#include <carry/sum.h>

#include "common/kernel_table.h"
#include "common/measure.h"

/* Subjects by index: three references, then the kernels in the order of their table. */
enum { SUBJECT_FLOOR, SUBJECT_PLAIN, SUBJECT_LOAD, SUBJECT_KERNELS, SUBJECTS_MAX = 32 };

struct kernels_work {
    const char *name;     /* carry bench NAME */
    const char *title;    /* in words */
    const char *examples; /* for --help, one per line */
    const struct kernel_table *table;
    carry_sum_fn *plain; /* computes the same in plain C; kernels are verified against it */
    const char *plain_title;
    uint32_t (*result)(uint32_t); /* returns the part of a kernel's result that must be the same */
    int result_digits;            /* number of hexadecimal digits of a result */
};

int kernels_bench(const struct kernels_work *work, int argc, char **argv);

struct subject {
    const char *name;
    carry_sum_fn *sum;
};

/* Sizes from `low` to `high`, which occur in proportion to `weight`. */
struct share {
    uint16_t low, high, weight;
};

struct mode {
    const char *name;
    const char *title;
    bool dependent;         /* each call waits for the result of the previous call */
    bool beside;            /* other work lies between the calls, and is timed too */
    bool interleaved;       /* cells alternate between two sizes and alignments */
    size_t sample_calls;    /* calls of a sample, in a mix; 0: as many as fit */
    struct share shares[3]; /* of a mix of sizes; empty in other modes */
};

#define MODE_COUNT 8
extern const struct mode modes[MODE_COUNT];

/* Returns whether the cells of a mode have several sizes and alignments. */
static inline bool is_mix(const struct mode *mode) {
    return mode->shares[0].weight != 0 || mode->interleaved;
}

struct call {
    uint32_t offset;
    uint32_t size;
};

struct cell {
    const struct mode *mode;
    size_t size; /* of each call, unless the mode is a mix */
    /* Offset of the first byte from the start of a page; for --interleave, the number of the
     * pair. */
    size_t align;
    double bytes; /* of a call, on average */
    const unsigned char *data;
    const struct call *calls; /* of a mix: as many as MIX_CALLS in kernels_work.c */
    struct call pair[2];      /* of an interleaved mode */
};

/* Counts of a call, less the counts of a call of an empty function; NAN: unknown. */
struct kernels_counted {
    double instructions, branches;
};

struct wrong {
    const char *kernel;
    size_t size, align;
    uint32_t is, should; /* the results of the kernel and of the plain loop */
};

struct kernels_bench {
    const struct kernels_work *work;
    struct subject subjects[SUBJECTS_MAX];
    size_t subject_count;
    size_t focus; /* the subject to judge: the chosen kernel, unless another was asked for */
    size_t base;  /* the subject that `focus` is compared with */
    bool focus_chosen;
    struct wrong wrong[SUBJECTS_MAX];
    size_t wrong_count;
    unsigned load_bits;
    struct cell *cells;
    size_t cell_count;
    unsigned char *arena;
    struct call *mixes[MODE_COUNT];
    struct bench_plan plan;
    double *samples;
    struct bench_noise noise;
    struct kernels_counted *counts; /* of each subject in each cell; NULL: not requested */
    const char *counted_by;         /* "counters" or "callgrind"; NULL: neither is available */
};

/* Does nothing; its result depends on `data`, as the latency mode needs. */
uint32_t kernels_floor(const void *data, size_t size, uint32_t sum);

/* Adds the three references. */
void kernels_add_references(struct kernels_bench *bench);

/* Allocates and fills the memory that cells use. Returns false if there is no memory. */
bool kernels_prepare(struct kernels_bench *bench);

/* Removes the subjects whose results differ from the plain loop's, and records them as wrong. */
void kernels_verify(struct kernels_bench *bench);

/* Makes `calls` calls, or in interleaved modes pairs of calls, from number `first` on. Returns a
 * value that depends on their results. */
uint32_t kernels_run_cell(const struct cell *cell, carry_sum_fn *sum, size_t first, size_t calls);

/* Measures all cells. Returns false if there is no memory. */
bool kernels_measure(struct kernels_bench *bench);

void kernels_release(struct kernels_bench *bench);

struct bench_stats kernels_stats(const struct kernels_bench *bench, size_t cell, size_t subject);

/* Returns the time of `subject` as a multiple of the time of `base`: 2 is half as fast. */
double kernels_ratio(const struct kernels_bench *bench, size_t cell, size_t subject, size_t base);

/* Returns the nanoseconds that `subject` costs above an empty function; at least 0. */
double kernels_added(const struct kernels_bench *bench, size_t cell, size_t subject);

/* Prints the reports on standard output. kernels_print_json() returns false if there is no
 * memory. */
bool kernels_print_json(const struct kernels_bench *bench);
void kernels_print_head(const struct kernels_bench *bench);
void kernels_print_tables(const struct kernels_bench *bench, bool every_alignment);
void kernels_print_verdict(const struct kernels_bench *bench);
void kernels_print_against(const struct kernels_bench *bench);

#endif
