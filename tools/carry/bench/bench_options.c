/* SPDX-License-Identifier: MIT */
#include "bench/bench_options.h"

#include "common/command.h"

#define QUICK_ROUNDS  11
#define QUICK_SECONDS 0.2 /* a share of the usual seconds */

bool bench_options(int argc, char **argv, const char *usage, struct bench_options *options,
                   int *status) {
    bool quick = false;
    const struct option_row rows[] = {
        {"quick", .flag = &quick},
        {"json", 'J', .flag = &options->json},
        {0},
    };
    const bool runs = options_read(argc, argv, usage, rows, OPERANDS_NONE, status);
    if (quick) {
        options->rounds = QUICK_ROUNDS;
        options->seconds *= QUICK_SECONDS;
    }
    return runs;
}

int bench_add_number(const char *command, const struct option_row *row, const char *text) {
    struct bench_list *list = row->target;
    uint64_t number;
    int status = command_number(command, row->name, text, row->low, row->high, &number);
    if (status != STATUS_CLEAN)
        return status;
    if (list->count == BENCH_LIST_MAX)
        return command_usage(command, "--%s may be given at most %d times", row->name,
                             BENCH_LIST_MAX);
    list->items[list->count++] = number;
    return STATUS_CLEAN;
}
