/* SPDX-License-Identifier: MIT */
/* `carry bench`: picks a benchmark from the table. */
#include <stdio.h>
#include <string.h>

#include "benches.h"
#include "command.h"

static const struct {
    const char *name;
    const char *title; /* as messages name it */
    const char *summary;
    int (*run)(int argc, char **argv);
} benches[] = {
#define CARRY_BENCH(name, summary) {#name, "bench " #name, summary, bench_##name},
#include "benches.def"
#undef CARRY_BENCH
};

#define BENCH_COUNT (sizeof benches / sizeof *benches)

static void print_usage(void) {
    puts("Usage: carry bench BENCHMARK [OPTION]...\n"
         "\n"
         "Measures how fast this machine runs the library.\n"
         "\n"
         "Benchmarks:");
    for (size_t i = 0; i < BENCH_COUNT; i++)
        printf("  %-8s %s\n", benches[i].name, benches[i].summary);
    puts("\n"
         "carry bench BENCHMARK --help tells the options of one.\n"
         "\n"
         "Example:\n"
         "  carry bench sum --quick");
}

int command_bench(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage();
        return STATUS_CLEAN;
    }
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (strcmp(name, benches[i].name) == 0) {
            argv[1] = (char *)benches[i].title;
            return benches[i].run(argc - 1, argv + 1);
        }
    }
    return command_usage(argv[0], "no benchmark '%s'", name);
}
