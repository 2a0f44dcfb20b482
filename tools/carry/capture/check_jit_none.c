/* SPDX-License-Identifier: MIT */
/* Where libcarry-jit is missing, or makes no functions for packets on this architecture. */
#include "capture/check_jit.h"
#include "common/command.h"

int check_jit_open(uint64_t after, struct check_jit **jit) {
    (void)after, (void)jit;
    return command_error("built without '--jit': it needs x86-64 or aarch64, and asmjit (in "
                         "Debian, libasmjit-dev): install it, and build anew");
}

void check_jit_close(struct check_jit *jit) {
    (void)jit;
}

uint32_t check_jit_step(const struct check_jit *jit) {
    (void)jit;
    return 1;
}

bool check_jit_learn(struct check_jit *jit, const struct carry_frame *frame, uint32_t packets) {
    (void)jit, (void)frame, (void)packets;
    return false;
}

int check_jit_packet(const struct carry_frame *frame, struct carry_packet_sum *sums) {
    (void)frame, (void)sums;
    return -1;
}
