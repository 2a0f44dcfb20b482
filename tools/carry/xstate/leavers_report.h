/* SPDX-License-Identifier: MIT */
/* Finds leavers in a table of calls, and reports them. */
#ifndef CARRY_TOOLS_LEAVERS_REPORT_H
#define CARRY_TOOLS_LEAVERS_REPORT_H

#include <stdio.h>

#include "xstate/leavers_table.h"
#include "xstate/xstate_leavers.h"

/* A function of an object, with all objects that call it. */
struct leavers_function {
    const char *function, *object;
    uint64_t calls, ymm, zmm, called_dirty, unknown;
    size_t first, count; /* the range of its rows in findings->calls */
};

/* The calls of a function by one object. */
struct leavers_call {
    struct leavers_names names;
    const struct leavers_row *row;
};

struct leavers_findings {
    struct leavers_call *calls; /* sorted by function */
    size_t calls_count;
    struct leavers_function *functions; /* sorted by how often they left uppers dirty */
    size_t functions_count;
    /* All `functions`, sorted by how often they were called with dirty uppers. */
    struct leavers_function *called_dirty;
    struct leavers_function sum; /* of all */
    /* Numbers of functions that left uppers dirty, and that were called with dirty uppers. */
    size_t leavers, victims;
    uint64_t processes, refused, lost;
};

/* Finds leavers. Returns false if there is no memory. The findings refer to the table. */
bool leavers_find(struct leavers_findings *findings, const struct leavers_table *table);
void leavers_free(struct leavers_findings *findings);

void leavers_report(const struct leavers_options *options, const struct leavers_findings *findings,
                    FILE *stream);

#endif
