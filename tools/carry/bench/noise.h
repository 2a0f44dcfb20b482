/* SPDX-License-Identifier: MIT */
/* Reports noise, for all benchmarks. */
#ifndef CARRY_TOOLS_BENCH_NOISE_H
#define CARRY_TOOLS_BENCH_NOISE_H

#include <jansson.h>

#include "common/measure.h"

/* Prints how many of the measured times are uncertain, and whether the machine is too noisy. Prints
 * nothing if all times are certain. */
void bench_noise_print(const struct bench_noise *noise);

/* Returns the contents of bench_noise_print() as a JSON object. */
json_t *bench_noise_json(const struct bench_noise *noise);

#endif
