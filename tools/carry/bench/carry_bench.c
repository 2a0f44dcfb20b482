/* SPDX-License-Identifier: MIT */
/* `carry bench`: picks a benchmark from the table. */
#include "bench/benches.h"
#include "common/command.h"
#include "common/subcommand.h"

static const struct subcommand benches[] = {
#define CARRY_BENCH(name, summary) {#name, "bench " #name, summary, bench_##name},
#include "bench/benches.def"
#undef CARRY_BENCH
};

static const struct subcommands commands = {
    .kind = "benchmark",
    .intro = "Usage: carry bench BENCHMARK [OPTION]...\n"
             "\n"
             "Measures how fast this machine runs the library.\n"
             "\n"
             "Benchmarks:\n",
    .outro = "\n"
             "carry bench BENCHMARK --help lists the options of a benchmark.\n"
             "\n"
             "Example:\n"
             "  carry bench sum --quick\n",
    .rows = benches,
    .count = sizeof benches / sizeof *benches,
};

int command_bench(int argc, char **argv) {
    return subcommand_run(&commands, argc, argv);
}
