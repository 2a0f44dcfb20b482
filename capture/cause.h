/* SPDX-License-Identifier: MIT */
/* What is known of a sum beside its verdict: counted, and named in reports. */
#ifndef CARRY_CAPTURE_SRC_CAUSE_H
#define CARRY_CAPTURE_SRC_CAUSE_H

#include <carry/capture.h>

enum carry_capture_cause carry_cause_of(const struct carry_packet_sum *sum);

/* Turns a bad sum of CAUSE_ZERO into a partial one of CAUSE_BY_SENDER. */
void carry_cause_leave(struct carry_packet_sum *sum);

#endif
