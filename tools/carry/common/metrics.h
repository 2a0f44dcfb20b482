/* SPDX-License-Identifier: MIT */
/*
 * Prints metrics in Prometheus' text format, version 0.0.4. Begin a family, then print its samples:
 *
 *     metrics_begin(out, &(struct metrics_family){"carry_x_total", "counter", "What it counts."});
 *     metrics_sample(out, "carry_x_total", labels, 2, 12);
 */
#ifndef CARRY_TOOLS_METRICS_H
#define CARRY_TOOLS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct metrics_family {
    const char *name, *type, *help;
};

struct metrics_label {
    const char *name, *value;
};

void metrics_begin(FILE *out, const struct metrics_family *family);
void metrics_sample(FILE *out, const char *name, const struct metrics_label *labels, size_t count,
                    uint64_t value);

/* Writes the output of `print` to a file that appears complete and replaces an older one, as
   node_exporter's textfile collector requires. Returns false with errno set on failure. */
bool metrics_write(const char *path, void (*print)(FILE *out, const void *context),
                   const void *context);

#endif
