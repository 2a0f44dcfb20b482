/* SPDX-License-Identifier: MIT */
/* Measures switches with the components that threads have in use: each combination once. */
#include <stdlib.h>

#include "xstate/xstate_who.h"

static const struct xstate_effort effort = {.rounds = 15, .sample_ns = 20e3};

static const struct who_switch *find_switch(const struct who_costs *costs, uint64_t in_use) {
    for (size_t i = 0; i < costs->count; i++)
        if (costs->switches[i].in_use == in_use)
            return &costs->switches[i];
    return NULL;
}

double who_switch_ns(const struct who_costs *costs, uint64_t in_use) {
    return find_switch(costs, in_use & xstate_reachable())->ns;
}

static bool add_switch(struct who_costs *costs, uint64_t in_use) {
    if (find_switch(costs, in_use))
        return true;
    struct who_switch *grown =
        reallocarray(costs->switches, costs->count + 1, sizeof *costs->switches);
    if (!grown)
        return false;
    costs->switches = grown;
    grown[costs->count++].in_use = in_use;
    return true;
}

/* Measures switches; `count` is GRID_ROWS at most. */
static bool measure_switches(struct who_switch *switches, size_t count) {
    struct xstate_grid grid;
    uint64_t masks[GRID_ROWS];
    for (size_t i = 0; i < count; i++)
        masks[i] = switches[i].in_use;
    if (!xstate_measure_saves(&grid, masks, count, &effort))
        return false;
    for (size_t i = 0; i < count; i++)
        switches[i].ns = grid.ns[i][xstate_saving_op()] + grid.ns[i][XSTATE_XRSTOR];
    return true;
}

bool who_measure(struct who_costs *costs, const struct who_process *process) {
    size_t step;
    const size_t first = costs->count;
    for (size_t i = 0; i < process->read; i++)
        if (!add_switch(costs, process->threads[i].in_use & xstate_reachable()))
            return false;
    for (size_t i = first; i < costs->count; i += step) {
        step = costs->count - i < GRID_ROWS ? costs->count - i : GRID_ROWS;
        if (!measure_switches(&costs->switches[i], step))
            return false;
    }
    return !process->dirty || costs->exp.rows || xstate_measure_libm(&costs->exp, 1, &effort);
}
