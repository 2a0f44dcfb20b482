/* SPDX-License-Identifier: MIT */
/* What a table of calls says. */
#ifndef CARRY_TOOLS_LEAVERS_REPORT_H
#define CARRY_TOOLS_LEAVERS_REPORT_H

#include <stdio.h>

#include "xstate/leavers.h"
#include "xstate/leavers_table.h"

/* A function of an object, with all objects that call it. */
struct leavers_function {
    const char *function, *object;
    uint64_t calls, ymm, zmm, called_dirty, unknown;
    size_t first, count; /* of the calls */
};

/* As one object calls it. */
struct leavers_call {
    struct leavers_names names;
    const struct leavers_row *row;
};

struct leavers_findings {
    struct leavers_call *calls; /* those that were made, by functions */
    size_t calls_count;
    struct leavers_function *functions; /* those that left uppers dirty most often first */
    size_t functions_count;
    struct leavers_function
        *called_dirty;           /* the same, those that were called so most often first */
    struct leavers_function sum; /* of all */
    size_t leavers, victims;     /* how many of the two there are */
    uint64_t processes, refused, lost;
};

/* False without memory. The table stays in use until findings are freed. */
bool leavers_find(struct leavers_findings *findings, const struct leavers_table *table);
void leavers_free(struct leavers_findings *findings);

void leavers_report(const struct leavers_options *options, const struct leavers_findings *findings,
                    FILE *stream);

#endif
