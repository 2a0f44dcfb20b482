/* SPDX-License-Identifier: MIT */
/* What the reports of benchmarks say of noise. */
#ifndef CARRY_TOOLS_BENCH_NOISE_H
#define CARRY_TOOLS_BENCH_NOISE_H

#include <jansson.h>

#include "common/measure.h"

/* Prints what is uncertain, and whether the machine is too noisy; nothing if all is certain. */
void bench_noise_print(const struct bench_noise *noise);

/* The same as an object. */
json_t *bench_noise_json(const struct bench_noise *noise);

#endif
