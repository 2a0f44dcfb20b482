/* SPDX-License-Identifier: MIT */
/* What was counted, as metrics. No label is an address or a port: there may be any number. */
#ifndef CARRY_TOOLS_LIVE_METRICS_H
#define CARRY_TOOLS_LIVE_METRICS_H

#include <stdio.h>

#include "live/counts.h"

struct live_metrics {
    const struct live *live;
    const struct live_counts *counts; /* which must not shrink */
};

/* `metrics` is a struct live_metrics. */
void live_metrics_print(FILE *out, const void *metrics);

#endif
