/* SPDX-License-Identifier: MIT */
/*
 * Generates functions at run time for the shapes of packets that are frequent in a capture, to
 * replace the walk: `carry check --jit`. Shapes are learned from samples.
 */
#ifndef CARRY_TOOLS_CHECK_JIT_H
#define CARRY_TOOLS_CHECK_JIT_H

#include <carry/capture.h>

struct check_jit;

/*
 * Prepares to generate the function of a shape after about `after` packets of that shape; `after`
 * is at least 1. Returns an exit status: STATUS_CLEAN, or another after a message, with *jit
 * unchanged.
 */
int check_jit_open(uint64_t after, struct check_jit **jit);
void check_jit_close(struct check_jit *jit); /* accepts NULL */

/* Returns a judge that uses the generated functions. It is valid until check_jit_close(). */
struct carry_capture_judge check_jit_judge(struct check_jit *jit);

#endif
