/* SPDX-License-Identifier: MIT */
/*
 * Measures what the preferences of <carry/features.def> claim, for `carry cpu --measure`: each
 * preference is a claim that the library costs programs less with it than without it.
 */
#ifndef CARRY_TOOLS_CPU_CLAIMS_H
#define CARRY_TOOLS_CPU_CLAIMS_H

#include <carry/copy.h>
#include <carry/cpu.h>
#include <carry/sum.h>

#include "common/measure.h"

enum claim_kind { CLAIM_SUM, CLAIM_COPY, CLAIM_THUNK };

/* The two ways to be compared. */
enum claim_way { CLAIM_WITHOUT, CLAIM_WITH, CLAIM_WAYS };

#define CLAIM_WORKS  5
#define CLAIMS_MAX   32  /* features of a CPU, as their set has 32 bits */
#define CLAIM_MASK   768 /* bytes of a mask that names every feature */
#define CLAIM_REASON 128

/* A kind of work that both ways do. */
struct claim_work {
    const char *title; /* for text; NULL ends the works of a claim */
    const char *mode;  /* of `carry bench`; a thunk's is the components in use */
    size_t size;       /* in bytes; 0 where sizes vary, and for thunks */
    size_t align;      /* offset of the source from the start of a page */
};

struct claim {
    const char *preference;
    enum claim_kind kind;
    const char *settled; /* a mask: the other preferences, so that this one decides */
    struct claim_work works[CLAIM_WORKS + 1];
};

/* Returns the claim of a preference; NULL if no work shows its effect. */
const struct claim *claim_of(const char *preference);

enum claim_verdict {
    CLAIM_HOLDS,
    CLAIM_FAILS,
    CLAIM_SAME,       /* the preference makes no difference */
    CLAIM_UNDECIDED,  /* noise is larger than the difference */
    CLAIM_UNMEASURED, /* see `reason` */
};

/* The times of a work. */
struct claim_times {
    const struct claim_work *work;
    bool beside;                       /* the whole turn is timed, with other work */
    double ns[CLAIM_WAYS];             /* medians */
    double added[CLAIM_WAYS];          /* above an empty call */
    struct bench_stats ratio;          /* of the times with the preference to those without it */
    const double *samples[CLAIM_WAYS]; /* of all rounds */
};

/* A preference on this CPU. */
struct claim_state {
    const char *name, *description;
    bool table; /* whether the table of CPUs lets it hold */
    const struct claim *claim;
    enum claim_verdict verdict;
    char reason[CLAIM_REASON];       /* why it was not measured */
    const char *kernels[CLAIM_WAYS]; /* what each way chooses; NULL for thunks */
    carry_sum_fn *sum[CLAIM_WAYS];
    carry_copy_fn *copy[CLAIM_WAYS];
    char masks[CLAIM_WAYS][2 * CLAIM_MASK]; /* that select the ways */
    struct claim_times times[CLAIM_WORKS];
    size_t time_count;
};

struct claims {
    struct claim_state states[CLAIMS_MAX];
    size_t count;
    char mask[CLAIM_MASK]; /* the mask by which the library uses what was measured */
    size_t rounds;
    double seconds; /* to measure */
    double *samples;
};

/* Measures all preferences of this architecture, and judges them. Features that CARRY_CPU_MASK
 * removes are not used; preferences that it sets are ignored. Leaves another mask in force. Returns
 * false if there is no memory. */
bool claims_measure(struct claims *claims);

/* Judges the preferences by their times, and sets the mask. */
void claims_judge(struct claims *claims);

/* Returns whether the table is wrong about a preference. */
bool claim_is_wrong(const struct claim_state *state);

/* Returns the exit status of `carry cpu --measure`. */
int claims_status(const struct claims *claims);

void claims_release(struct claims *claims);

/* Print the report on standard output. */
void claims_print_text(const struct claims *claims);
void claims_print_json(const struct claims *claims);

#endif
