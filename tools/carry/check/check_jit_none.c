/* SPDX-License-Identifier: MIT */
/* Replaces check_jit.c where libcarry-jit is missing, or generates no functions for packets on this
   architecture. */
#include "check/check_jit.h"
#include "common/command.h"

int check_jit_open(uint64_t after, struct check_jit **jit) {
    (void)after, (void)jit;
    return command_error("built without --jit, which needs x86-64 or aarch64, and asmjit (in "
                         "Debian, libasmjit-dev): install it, and build again");
}

void check_jit_close(struct check_jit *jit) {
    (void)jit;
}

struct carry_capture_judge check_jit_judge(struct check_jit *jit) {
    (void)jit;
    return (struct carry_capture_judge){0};
}
