/* SPDX-License-Identifier: MIT */
/* What `carry fix` says: a summary for people or as JSON, and a log of sums changed and left. */
#ifndef CARRY_TOOLS_FIX_REPORT_H
#define CARRY_TOOLS_FIX_REPORT_H

#include <stdio.h>

#include <carry/packet.h>

#include "capture/capture.h"
#include "capture/reassemble.h"

/* Why a sum is left that is bad, partial or illegal. */
enum fix_reason {
    FIX_REASON_ONLY,    /* --only does not name its verdict */
    FIX_REASON_EARLY,   /* what shows that --only names its verdict came behind it, in a pipe */
    FIX_REASON_BESIDE,  /* of IPv4 headers of 0 in one frame, only some are left to network cards */
    FIX_REASON_QUOTED,  /* an ICMP error quotes it */
    FIX_REASON_COVERED, /* a sum that cannot be verified covers it */
    FIX_REASON_PARTIAL, /* a sum covers it that is right once a partial one is complete */
    FIX_REASON_SNAPLEN, /* the capture cut off what it covers */
    FIX_REASON_ADLER32, /* it verifies as Adler-32, and --only does not name its verdict */
    FIX_REASON_NESTED,  /* see enum datagram_bar */
    FIX_REASON_TUNNEL,
    FIX_REASON_UNKNOWN,  /* what it should hold is not certain */
    FIX_REASON_DATAGRAM, /* and those behind this: what became of its datagram, if not COMPLETE */
    FIX_REASON_COUNT = FIX_REASON_DATAGRAM + REASSEMBLY_COUNT
};

/* A sum that changes, or is left. */
struct fix_sum {
    const struct carry_packet_sum *sum; /* as it was judged before */
    uint64_t frame;                     /* with which carry check lists it */
    uint64_t field_frame;               /* which holds the field; 0: not known */
    uint64_t offset;                    /* of the field in the file, or SOURCE_NOWHERE */
    unsigned skip, size;                /* bytes of the field: before those told of, and these */
};

/* Of the sums that are left for a reason, so many frames are remembered. */
#define FIX_FRAMES_SHOWN 5

struct fix_group {
    uint64_t count;
    uint64_t frames[FIX_FRAMES_SHOWN]; /* the first */
};

struct fix_report {
    const char *input;
    const char *output; /* NULL: nothing was written */
    uint64_t packets;
    uint64_t bytes;
    uint64_t changed_packets;
    uint64_t repaired[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT]; /* by the verdict before */
    uint64_t left[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];     /* by the verdict afterwards */
    struct fix_group reasons[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT][FIX_REASON_COUNT];
    enum capture_result end;
    const struct capture_problem *problem; /* valid if `end` is not CAPTURE_END */
};

uint64_t fix_repaired(const struct fix_report *report);

/* Sums that are bad or illegal after all. */
uint64_t fix_left(const struct fix_report *report);

/* Counts a sum that is left. */
void fix_leave(struct fix_report *report, const struct fix_sum *sum, enum fix_reason reason);

/* The same in two steps, where the verdict is not known yet: groups of IPv4 headers. */
void fix_group_add(struct fix_group *group, uint64_t frame);
void fix_leave_headers(struct fix_report *report, unsigned verdict, enum fix_reason reason,
                       const struct fix_group *headers);

void fix_report_text(const struct fix_report *report);
void fix_report_json(const struct fix_report *report);

/* One line of JSON on a sum that changes, or on one that is left. */
void fix_log_change(FILE *log, const struct fix_sum *sum);
void fix_log_left(FILE *log, const struct fix_sum *sum, enum fix_reason reason);

#endif
