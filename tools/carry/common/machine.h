/* SPDX-License-Identifier: MIT */
/* Describes the machine and the build of a benchmark: without them, its numbers mean nothing. */
#ifndef CARRY_TOOLS_BENCH_MACHINE_H
#define CARRY_TOOLS_BENCH_MACHINE_H

#include <jansson.h>
#include <stddef.h>

struct bench_machine {
    char cpu[64];     /* "unknown CPU" if the CPU has no name */
    char system[192]; /* such as "Linux 6.1.0" */
    char version[16]; /* of libcarry */
    char date[32];    /* ISO 8601, UTC */
    const char *compiler;
    const char *flags;
};

void bench_machine(struct bench_machine *machine);

/* Prints machine and build as text: the CPU, the system and the build, each on its own line. */
void bench_machine_print(void);

/* Returns machine and build as an object, with the architecture and the features in use. */
json_t *bench_machine_json(void);

#endif
