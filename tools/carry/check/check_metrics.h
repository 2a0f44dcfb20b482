/* SPDX-License-Identifier: MIT */
/* Writes the counts of `carry check` as metrics for node_exporter. */
#ifndef CARRY_TOOLS_CHECK_METRICS_H
#define CARRY_TOOLS_CHECK_METRICS_H

#include <stdbool.h>

#include "check/check_print.h"

/* Writes the metrics file. Returns false with errno set on failure. */
bool check_metrics_write(const char *path, const struct check_print *print);

#endif
