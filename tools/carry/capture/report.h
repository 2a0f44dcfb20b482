/* SPDX-License-Identifier: MIT */
/*
 * What `carry check` prints of a capture: report.c for people, report_json.c for programs,
 * report_tsv.c for tools that work on lines.
 */
#ifndef CARRY_TOOLS_REPORT_H
#define CARRY_TOOLS_REPORT_H

#include "capture/capture.h"
#include "capture/reassemble.h"
#include "capture/tally.h"
#include "common/text.h"

struct report {
    const char *path;
    const struct tally *tally;
    unsigned wrong, listed;         /* sets of verdicts */
    const struct finding *findings; /* the first that are listed */
    size_t findings_count;
    const uint64_t *reassembly; /* by enum reassembly; NULL: not tried */
    enum capture_result end;
    const struct capture_problem *problem; /* valid if `end` is not CAPTURE_END */
};

struct report_total {
    const struct tally *tally;
    const uint64_t *reassembly; /* as above */
    unsigned wrong;             /* set of verdicts */
    uint64_t captures, damaged, failed, skipped;
    uint64_t unchecked;       /* captures in which nothing was checked */
    uint64_t not_clean;       /* captures with an exit status of their own */
    const char *const *named; /* the first of those */
    size_t named_count;
};

/* The summary of one capture. */
void report_text(const struct report *report);
void report_json(const struct report *report);
void report_tsv(const struct report *report);

/* One line on one capture, where there are several. */
void report_line(const struct report *report);

/* What all captures hold together; in the last line, which of them are not clean. */
void report_total(const struct report_total *total);

/* The names of the columns, above the lines of all captures. */
void report_tsv_header(void);
void report_finding_tsv_header(void);

/* One line on one sum; as text, `path` stands in front of it unless it is NULL. */
void report_finding_text(const char *path, const struct finding *finding);
void report_finding_json(const char *path, const struct finding *finding);
void report_finding_tsv(const char *path, const struct finding *finding);

/* 2026-11-21T20:38:00.123456789Z, in a buffer of REPORT_TIME_SIZE; NULL if it is not known. */
#define REPORT_TIME_SIZE 64
char *report_time(char *buffer, uint64_t time_ns);

/* In which colour a verdict is written. */
enum colour report_verdict_colour(unsigned verdict);

/* Static name of a link type, or NULL. */
const char *report_link_name(uint32_t linktype);

#endif
