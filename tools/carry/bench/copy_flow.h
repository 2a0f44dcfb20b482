/* SPDX-License-Identifier: MIT */
/* Moves blocks between two processes like `dd` and `cat`, for `carry bench copy --mode pipe`. */
#ifndef CARRY_TOOLS_BENCH_COPY_FLOW_H
#define CARRY_TOOLS_BENCH_COPY_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/copy.h>

#define FLOW_BLOCK ((size_t)32 << 10)

/* The work that is done with blocks: the cells of a plan. */
enum flow_work {
    FLOW_DD_CAT, /* dd if=/dev/zero bs=32k | cat > /dev/null */
    FLOW_DD,     /* dd if=/dev/zero bs=32k of=/dev/null */
    FLOW_WORKS,
};
extern const char *const flow_works[FLOW_WORKS];

/* The ways to move blocks: the subjects of a plan. */
enum flow_way {
    FLOW_READ_WRITE, /* read() and write(), like both programs */
    FLOW_MEMCPY,     /* memcpy() replaces each system call that copies; the pipe is shared memory */
    FLOW_COPY,
    FLOW_SUM_COPY,
    FLOW_SPLICE, /* copies nothing; the last way, since not all systems have it */
    FLOW_WAYS,
};
extern const char *const flow_ways[FLOW_WAYS];

struct flow;

/* Starts the process `cat`; returns NULL if that fails. `source` is a block of any content. */
struct flow *flow_open(const unsigned char *source);
void flow_close(struct flow *flow);

/* Returns the number of ways that the system supports. */
size_t flow_way_count(const struct flow *flow);

/* Returns the name of a way that changes or loses blocks; NULL if all ways work. */
const char *flow_find_wrong(struct flow *flow);

/* Moves `blocks` blocks; returns false if they do not arrive. */
bool flow_run(struct flow *flow, enum flow_work work, enum flow_way way, size_t blocks);

#endif
