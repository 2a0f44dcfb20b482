/* SPDX-License-Identifier: MIT */
/* Replaces jit_work.c in builds without libcarry-jit, or where it makes no functions for
 * packets. */
#include "bench/bench_jit.h"
#include "common/command.h"

int bench_jit_measure(struct jit_bench *bench) {
    (void)bench;
    return command_error(
        "built without 'bench jit': install asmjit (in Debian, libasmjit-dev), and build again");
}
