/* SPDX-License-Identifier: MIT */
/* What `carry fix` says: a summary for people or as JSON, and a log of changes. */
#ifndef CARRY_TOOLS_FIX_REPORT_H
#define CARRY_TOOLS_FIX_REPORT_H

#include <stdio.h>

#include <carry/packet.h>

#include "capture.h"

struct fix_report {
    const char *input;
    const char *output; /* NULL: nothing was written */
    uint64_t packets;
    uint64_t bytes;
    uint64_t changed_packets;
    uint64_t repaired[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT]; /* by the verdict before */
    uint64_t left[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];     /* by the verdict afterwards */
    enum capture_result end;
    const struct capture_problem *problem; /* valid if `end` is not CAPTURE_END */
};

uint64_t fix_repaired(const struct fix_report *report);

/* Sums that are bad or illegal after all. */
uint64_t fix_left(const struct fix_report *report);

void fix_report_text(const struct fix_report *report);
void fix_report_json(const struct fix_report *report);

/* One line of JSON on one change, as carry_packet_fix() lists it. */
void fix_log(FILE *log, const struct packet *packet, const struct carry_packet_sum *change);

#endif
