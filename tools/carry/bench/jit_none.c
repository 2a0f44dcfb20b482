/* SPDX-License-Identifier: MIT */
/* Where libcarry-jit was left out. */
#include "bench/jit.h"
#include "common/command.h"

int bench_jit_measure(struct jit_bench *bench) {
    (void)bench;
    return command_error(
        "built without 'bench jit': install asmjit (in Debian, libasmjit-dev), and build again");
}
