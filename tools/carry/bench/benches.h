/* SPDX-License-Identifier: MIT */
/* The functions that benches.def names. */
#ifndef CARRY_TOOLS_BENCHES_H
#define CARRY_TOOLS_BENCHES_H

#define CARRY_BENCH(name, summary) int bench_##name(int argc, char **argv);
#include "bench/benches.def"
#undef CARRY_BENCH

#endif
