/* SPDX-License-Identifier: MIT */
#include "cause.h"

static enum carry_capture_cause cause_of_bad(const struct carry_packet_sum *sum) {
    if (sum->cause == CARRY_CAUSE_ADLER32)
        return CARRY_CAPTURE_CAUSE_ADLER32;
    return sum->stored ? CARRY_CAPTURE_CAUSE_NONE : CARRY_CAPTURE_CAUSE_ZERO;
}

/* An IPv4 header's sum is partial for no other reason than these two. */
static enum carry_capture_cause cause_of_partial(const struct carry_packet_sum *sum) {
    if (sum->protocol != CARRY_PROTOCOL_IP)
        return CARRY_CAPTURE_CAUSE_NONE;
    return sum->cause == CARRY_CAUSE_HEADER ? CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL
                                            : CARRY_CAPTURE_CAUSE_BY_SENDER;
}

enum carry_capture_cause carry_cause_of(const struct carry_packet_sum *sum) {
    switch (sum->verdict) {
    case CARRY_VERDICT_BAD:
        return cause_of_bad(sum);
    case CARRY_VERDICT_PARTIAL:
        return cause_of_partial(sum);
    default:
        return CARRY_CAPTURE_CAUSE_NONE;
    }
}

const char *carry_capture_cause_name(unsigned cause) {
    static const char *const names[CARRY_CAPTURE_CAUSE_COUNT] = {
        [CARRY_CAPTURE_CAUSE_NONE] = "none",
        [CARRY_CAPTURE_CAUSE_ZERO] = "zero",
        [CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL] = "beside_partial",
        [CARRY_CAPTURE_CAUSE_BY_SENDER] = "by_sender",
        [CARRY_CAPTURE_CAUSE_ADLER32] = "adler32",
    };
    return cause < CARRY_CAPTURE_CAUSE_COUNT ? names[cause] : "unknown";
}

void carry_cause_leave(struct carry_packet_sum *sum) {
    sum->verdict = CARRY_VERDICT_PARTIAL;
}
