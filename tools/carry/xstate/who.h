/* SPDX-License-Identifier: MIT */
/* `carry xstate who`: what was read and measured, for its reports. */
#ifndef CARRY_TOOLS_XSTATE_WHO_H
#define CARRY_TOOLS_XSTATE_WHO_H

#include "xstate/measure.h"
#include "xstate/thread.h"

struct who_process {
    pid_t pid;
    char name[32];
    struct xstate_thread *threads; /* by verdict, name and state: equal ones are neighbours */
    size_t count;
    size_t read, gone, refused, dirty;
};

/* What a switch takes with these components in use, nanoseconds. */
struct who_switch {
    uint64_t in_use;
    double ns;
};

struct who_costs {
    struct who_switch *switches;
    size_t count;
    struct xstate_grid exp; /* of libm, a column a state of uppers; no row before it was needed */
};

/* From the worst to the best; a component of the first one that fits is in use. */
enum who_verdict { WHO_DIRTY_ZMM, WHO_DIRTY_YMM, WHO_TILES, WHO_MASKS, WHO_CLEAN, WHO_VERDICTS };

struct who_verdict_row {
    const char *name;
    uint64_t components;
};
extern const struct who_verdict_row who_verdicts[WHO_VERDICTS];

enum who_verdict who_verdict(uint64_t in_use);

/* Measures what is new in this process; false without memory. */
bool who_measure(struct who_costs *costs, const struct who_process *process);

/* Its switch, which was measured. */
double who_switch_ns(const struct who_costs *costs, uint64_t in_use);

/* The reports, on standard output. */
void who_print_text(const struct who_process *process, const struct who_costs *costs);
void who_print_json(const struct who_process *process, const struct who_costs *costs);

#endif
