/* SPDX-License-Identifier: MIT */
#include "capture/cause.h"

static enum cause cause_of_bad(const struct carry_packet_sum *sum) {
    if (sum->cause == CARRY_CAUSE_ADLER32)
        return CAUSE_ADLER32;
    return sum->stored ? CAUSE_NONE : CAUSE_ZERO;
}

/* An IPv4 header's sum is partial for no other reason than these two. */
static enum cause cause_of_partial(const struct carry_packet_sum *sum) {
    if (sum->protocol != CARRY_PROTOCOL_IP)
        return CAUSE_NONE;
    return sum->cause == CARRY_CAUSE_HEADER ? CAUSE_BESIDE_PARTIAL : CAUSE_BY_SENDER;
}

enum cause cause_of(const struct carry_packet_sum *sum) {
    switch (sum->verdict) {
    case CARRY_VERDICT_BAD:
        return cause_of_bad(sum);
    case CARRY_VERDICT_PARTIAL:
        return cause_of_partial(sum);
    default:
        return CAUSE_NONE;
    }
}

const char *cause_name(enum cause cause) {
    static const char *const names[CAUSE_COUNT] = {
        [CAUSE_NONE] = "none",
        [CAUSE_ZERO] = "zero",
        [CAUSE_BESIDE_PARTIAL] = "beside_partial",
        [CAUSE_BY_SENDER] = "by_sender",
        [CAUSE_ADLER32] = "adler32",
    };
    return names[cause];
}

void cause_leave(struct carry_packet_sum *sum) {
    sum->verdict = CARRY_VERDICT_PARTIAL;
}
