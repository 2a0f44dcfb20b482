/* SPDX-License-Identifier: MIT */
/* Prints the counts as metrics. Addresses and ports are not labels, since their number has no
   limit. */
#ifndef CARRY_TOOLS_LIVE_METRICS_H
#define CARRY_TOOLS_LIVE_METRICS_H

#include <stdio.h>

#include "live/counts.h"

struct live_metrics {
    const struct live *live;
    const struct live_counts *counts; /* they must not shrink */
};

/* Prints metrics; `metrics` is a struct live_metrics. */
void live_metrics_print(FILE *out, const void *metrics);

#endif
