/* SPDX-License-Identifier: MIT */
/* `carry bench copy`: what is timed, and what the reports read. */
#ifndef CARRY_TOOLS_BENCH_COPY_H
#define CARRY_TOOLS_BENCH_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include <carry/copy.h>

#include "bench/copy_flow.h"
#include "common/measure.h"

/* How often --size may be given; subjects at most. */
#define COPY_SUBJECTS 32

/* Returns anything that depends on what it does. */
typedef uint32_t copy_work_fn(void *dst, const void *src, size_t size);

/* One of both. */
struct copy_subject {
    const char *name;
    carry_copy_fn *copy;
    copy_work_fn *work;
};

enum copy_mode { COPY_HOT, COPY_COLD, COPY_MIXED, COPY_BESIDE, COPY_MOVE, COPY_PIPE, COPY_MODES };

struct copy_mode_row {
    const char *name;
    const char *title;
};
extern const struct copy_mode_row copy_modes[COPY_MODES];

/* Of the first bytes, from the start of a page; for moves, of the same one. */
struct copy_alignment {
    uint16_t source, target;
};
#define COPY_ALIGNMENTS 4
extern const struct copy_alignment copy_alignments[COPY_ALIGNMENTS];
#define COPY_OVERLAPS 4
extern const struct copy_alignment copy_overlaps[COPY_OVERLAPS];

struct copy_cell {
    enum copy_mode mode;
    size_t size; /* 0 where sizes vary */
    struct copy_alignment align;
    size_t stride; /* from call to call; 0: the same bytes again */
};

/* Measurements with the same subjects. */
struct copy_set {
    struct copy_subject subjects[COPY_SUBJECTS];
    size_t subject_count;
    struct copy_cell *cells;
    size_t cell_count;
    struct bench_plan plan;
    double *samples;
};

struct copy_bench {
    struct copy_set memory; /* copies from place to place */
    struct copy_set beside; /* the same beside other work, behind the subject that does nothing */
    struct copy_set move;   /* between ranges that overlap: libc's memmove and carry_copy_move() */
    struct copy_set pipe;   /* blocks through a pipe, and what is done with them then */
    struct copy_set flow;   /* blocks from `dd` to `cat`: cells are works, subjects ways of these */
    struct flow *flowing;   /* NULL where that is not measured */
    size_t focus;           /* among the subjects of `memory`: the chosen kernel, */
    size_t memcpy, rep;     /* libc's, and the kernel that is `rep movsb`, or `memcpy` again, */
    size_t kernels_end;     /* and what follows the kernels: */
    size_t copy, copy_try, sum_copy, sum_try, sum_then_copy, stream;
    size_t readv; /* COPY_SUBJECTS where the system has no process_vm_readv(), or refuses it */
    unsigned char *source, *target;
    uint8_t *sizes;       /* of a mix */
    uint16_t *imix_sizes; /* of another */
    int pipes[2];
    bool survives; /* faults are handled */
    struct bench_noise noise;
};

/* Fills in the subjects; false where a pipe or memory is missing. */
bool copy_prepare(struct copy_bench *bench, size_t largest);

/* Fills in the subjects of `flow`, and starts what they need; false where that cannot be. */
bool copy_start_flow(struct copy_bench *bench);

/* Names the subject that copies wrongly and the size; NULL if none does. */
const char *copy_find_wrong(const struct copy_bench *bench, size_t *size);

/* How much to measure. */
struct copy_effort {
    size_t rounds;
    double sample_ns;
    double seconds; /* at most, on a busy machine: of copies from place to place, and of the rest */
};

/* Measures all cells. False when there is too little memory. */
bool copy_measure(struct copy_bench *bench, const struct copy_effort *effort);

void copy_release(struct copy_bench *bench);

struct bench_stats copy_stats(const struct copy_set *set, size_t cell, size_t subject);
double copy_ratio(const struct copy_set *set, size_t cell, size_t subject, size_t base);

/* Megabytes (10^6 bytes) a second, of `pipe` and `flow`: the median, and half of what lies between
 * the quartiles, as a share of it. */
struct copy_rate {
    double mb, q1, q3, spread;
};
struct copy_rate copy_rate(const struct copy_set *set, size_t cell, size_t subject);

/* What a subject adds to the work around it, in nanoseconds; never less than 0; of `beside`. */
double copy_added(const struct copy_set *set, size_t cell, size_t subject);

/* The better one of libc's and `rep movsb` in a cell. */
size_t copy_best(const struct copy_bench *bench, size_t cell);

/* The reports, on standard output. JSON is false when there is too little memory. */
void copy_print_text(const struct copy_bench *bench);
bool copy_print_json(const struct copy_bench *bench);

#endif
