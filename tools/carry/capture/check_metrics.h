/* SPDX-License-Identifier: MIT */
/* What `carry check` counted, as metrics for node_exporter. */
#ifndef CARRY_TOOLS_CHECK_METRICS_H
#define CARRY_TOOLS_CHECK_METRICS_H

#include <stdbool.h>

#include "capture/check_print.h"

/* False with errno set. */
bool check_metrics_write(const char *path, const struct check_print *print);

#endif
