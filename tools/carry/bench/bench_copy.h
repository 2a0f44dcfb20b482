/* SPDX-License-Identifier: MIT */
/* Shares cells, subjects and results of `carry bench copy` between measurement and reports. */
#ifndef CARRY_TOOLS_BENCH_COPY_H
#define CARRY_TOOLS_BENCH_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include <carry/copy.h>

#include "bench/copy_flow.h"
#include "common/measure.h"

/* The largest number of subjects in a set. */
#define COPY_SUBJECTS 32

/* Does the work of a subject; the result depends on it, so that compilers keep the work. */
typedef uint32_t copy_work_fn(void *dst, const void *src, size_t size);

/* Exactly one of `copy` and `work` is set, except in `flow`, where neither is. */
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

/* Offsets of the first bytes from the start of a page; for moves, both from the same page. */
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
    size_t stride; /* distance between consecutive calls; 0: all calls use the same bytes */
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
    struct copy_set memory; /* copies between ranges that do not overlap */
    struct copy_set beside; /* copies beside other work; the first subject copies nothing */
    struct copy_set move;   /* between ranges that overlap: libc's memmove and carry_copy_move() */
    struct copy_set pipe;   /* blocks through a pipe, and the work on each block */
    struct copy_set flow; /* blocks from `dd` to `cat`: cells by flow_work, subjects by flow_way */
    struct flow *flowing; /* NULL: `flow` is not measured */
    /* Indices of subjects of `memory`: */
    size_t focus;       /* the chosen kernel */
    size_t memcpy, rep; /* libc's; the kernel that is `rep movsb`, or `memcpy` if there is none */
    size_t kernels_end; /* the first subject after the kernels */
    size_t copy, copy_try, sum_copy, sum_try, sum_then_copy, stream;
    size_t readv; /* COPY_SUBJECTS where the system has no process_vm_readv(), or refuses it */
    unsigned char *source, *target;
    uint8_t *sizes;       /* of the mix of COPY_MIXED */
    uint16_t *imix_sizes; /* of the mix beside other work */
    int pipes[2];
    bool survives; /* faults are handled, so that copies may survive them */
    struct bench_noise noise;
};

/* Fills in the subjects. Returns false if there is no pipe or no memory. */
bool copy_prepare(struct copy_bench *bench, size_t largest);

/* Makes source and target of at least `size` bytes each. Returns false if there is no memory. */
bool copy_make_areas(struct copy_bench *bench, size_t size);

/* Copies nothing. */
void copy_nothing(void *dst, const void *src, size_t size);

/* Makes calls of one subject. The cell is of mode hot or cold, or is beside other work with one
 * size. Returns a value that depends on the copies. */
uint32_t copy_run_cell(const struct copy_bench *bench, const struct copy_cell *cell,
                       const struct copy_subject *subject, size_t first, size_t calls);

/* Fills in the subjects of `flow`, and starts their process. Returns false if that fails. */
bool copy_start_flow(struct copy_bench *bench);

/* Returns the name of a subject that copies incorrectly, and sets `*size`; NULL if all subjects are
 * correct. */
const char *copy_find_wrong(const struct copy_bench *bench, size_t *size);

/* The amount to measure. */
struct copy_effort {
    size_t rounds;
    double sample_ns;
    double seconds; /* the most on a busy machine for `memory`; each other set has a third of it */
};

/* Measures all cells. Returns false if there is no memory. */
bool copy_measure(struct copy_bench *bench, const struct copy_effort *effort);

void copy_release(struct copy_bench *bench);

struct bench_stats copy_stats(const struct copy_set *set, size_t cell, size_t subject);
double copy_ratio(const struct copy_set *set, size_t cell, size_t subject, size_t base);

/* Megabytes (10^6 bytes) a second, of `pipe` and `flow`: the median, the quartiles, and half of the
 * distance between the quartiles as a share of the median. */
struct copy_rate {
    double mb, q1, q3, spread;
};
struct copy_rate copy_rate(const struct copy_set *set, size_t cell, size_t subject);

/* Returns the nanoseconds that a subject of `beside` adds to the work around it; at least 0. */
double copy_added(const struct copy_set *set, size_t cell, size_t subject);

/* Returns the faster subject in a cell: memcpy() of libc, or `rep movsb`. */
size_t copy_best(const struct copy_bench *bench, size_t cell);

/* Prints the reports on standard output. copy_print_json() returns false if there is no memory. */
void copy_print_text(const struct copy_bench *bench);
bool copy_print_json(const struct copy_bench *bench);

#endif
