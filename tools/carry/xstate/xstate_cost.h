/* SPDX-License-Identifier: MIT */
/* Shares the results of `carry xstate cost` between measurement and reports. */
#ifndef CARRY_TOOLS_XSTATE_COST_H
#define CARRY_TOOLS_XSTATE_COST_H

#include "xstate/xstate_measure.h"

struct xstate_cost {
    bool has_aes;
    size_t save_count;
    uint64_t save_masks[GRID_ROWS];
    uint64_t section_masks[GRID_ROWS]; /* the components of each row of `sections` */
    struct xstate_grid libm, aes, events, saves, starts, sections;
};

/* Prints the reports on standard output. */
void xstate_cost_print_text(const struct xstate_cost *cost);
void xstate_cost_print_json(const struct xstate_cost *cost);

#endif
