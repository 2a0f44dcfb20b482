/* SPDX-License-Identifier: MIT */
/* Blocks that flow as those of `dd` and `cat`, for `carry bench copy --mode pipe`. */
#ifndef CARRY_TOOLS_BENCH_COPY_FLOW_H
#define CARRY_TOOLS_BENCH_COPY_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/copy.h>

#define FLOW_BLOCK ((size_t)32 << 10)

/* The cells of a plan. */
enum flow_work {
    FLOW_DD_CAT, /* dd if=/dev/zero bs=32k | cat > /dev/null */
    FLOW_DD,     /* dd if=/dev/zero bs=32k of=/dev/null */
    FLOW_WORKS,
};
extern const char *const flow_works[FLOW_WORKS];

/* Its subjects. */
enum flow_way {
    FLOW_READ_WRITE, /* read() and write(), as both programs have them */
    FLOW_MEMCPY,     /* in place of each system call that copies; the pipe is memory of both */
    FLOW_COPY,
    FLOW_SUM_COPY,
    FLOW_SPLICE, /* nothing is copied; the last one, since not all systems have it */
    FLOW_WAYS,
};
extern const char *const flow_ways[FLOW_WAYS];

struct flow;

/* Starts the process that is `cat`; NULL if it cannot. `source` is a block of any content. */
struct flow *flow_open(const unsigned char *source);
void flow_close(struct flow *flow);

/* How many ways the system has. */
size_t flow_way_count(const struct flow *flow);

/* Names the way in which blocks arrive changed, or not at all; NULL if there is none. */
const char *flow_find_wrong(struct flow *flow);

/* Lets so many blocks flow; false if they do not. */
bool flow_run(struct flow *flow, enum flow_work work, enum flow_way way, size_t blocks);

#endif
