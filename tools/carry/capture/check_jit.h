/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time for the shapes of packets that captures are full of, in place of the
 * walk: `carry check --jit`. Shapes are learned from samples.
 */
#ifndef CARRY_TOOLS_CHECK_JIT_H
#define CARRY_TOOLS_CHECK_JIT_H

#include <carry/capture.h>

struct check_jit;

/*
 * Makes the function of a shape after about so many packets of it, 1 or more. Returns an exit
 * status, with a message unless it is STATUS_CLEAN; *jit is then as it was.
 */
int check_jit_open(uint64_t after, struct check_jit **jit);
void check_jit_close(struct check_jit *jit); /* takes NULL too */

/* What judges packets by these functions, until they are closed. */
struct carry_capture_judge check_jit_judge(struct check_jit *jit);

#endif
