/* SPDX-License-Identifier: MIT */
/* Shares the results of `carry xstate who` between measurement and reports. */
#ifndef CARRY_TOOLS_XSTATE_WHO_H
#define CARRY_TOOLS_XSTATE_WHO_H

#include "xstate/thread.h"
#include "xstate/xstate_measure.h"

struct who_process {
    pid_t pid;
    char name[32];
    struct xstate_thread *threads; /* sorted by reading, verdict, name and state */
    size_t count;
    size_t read, gone, refused, dirty;
};

/* The nanoseconds of a switch with these components in use. */
struct who_switch {
    uint64_t in_use;
    double ns;
};

struct who_costs {
    struct who_switch *switches;
    size_t count;
    struct xstate_grid exp; /* times of exp() of libm by state of uppers; no row until measured */
};

/* Verdicts, from the worst to the best. A thread gets the first verdict that has a component in
 * use. */
enum who_verdict { WHO_DIRTY_ZMM, WHO_DIRTY_YMM, WHO_TILES, WHO_MASKS, WHO_CLEAN, WHO_VERDICTS };

struct who_verdict_row {
    const char *name;
    uint64_t components;
};
extern const struct who_verdict_row who_verdicts[WHO_VERDICTS];

enum who_verdict who_verdict(uint64_t in_use);

/* Measures the states of threads that were not measured yet; returns false if there is no
 * memory. */
bool who_measure(struct who_costs *costs, const struct who_process *process);

/* Returns the nanoseconds of a switch; the switch must have been measured. */
double who_switch_ns(const struct who_costs *costs, uint64_t in_use);

/* Prints the reports on standard output. */
void who_print_text(const struct who_process *process, const struct who_costs *costs);
void who_print_json(const struct who_process *process, const struct who_costs *costs);

#endif
