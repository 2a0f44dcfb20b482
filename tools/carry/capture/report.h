/* SPDX-License-Identifier: MIT */
/*
 * What `carry check` prints of a capture: report.c for people, report_json.c for programs,
 * report_columns.c for tools that work on lines.
 */
#ifndef CARRY_TOOLS_REPORT_H
#define CARRY_TOOLS_REPORT_H

#include <carry/capture.h>

#include "capture/address.h"
#include "common/json.h"
#include "common/text.h"

struct report {
    const char *path;
    const struct carry_capture_summary *summary;
    unsigned wrong, listed;           /* sets of verdicts */
    struct carry_capture_error error; /* its code is CARRY_OK if all was read */
    size_t shown;                     /* findings at most (0: all that the summary keeps) */
};

struct report_total {
    const struct carry_capture_summary *summary;
    unsigned wrong; /* set of verdicts */
    uint64_t captures, damaged, failed, skipped;
    uint64_t unchecked;       /* captures in which nothing was checked */
    uint64_t not_clean;       /* captures with an exit status of their own */
    const char *const *named; /* the first of those */
    size_t named_count;
};

/* The summary of one capture. */
void report_text(FILE *out, const struct report *report);
void report_json(FILE *out, const struct report *report);

/* The same as columns: between tabs, or between commas. */
enum columns { COLUMNS_TSV, COLUMNS_CSV };
void report_columns(const struct report *report, enum columns columns);

/* One line on one capture, where there are several. */
void report_line(FILE *out, const struct report *report);

/* What all captures hold together; in the last line, which of them are not clean. */
void report_total(const struct report_total *total);

/* The names of the columns, above the lines of all captures. */
void report_columns_header(enum columns columns);
void report_finding_columns_header(enum columns columns);

/* One line on one sum; as text, `path` stands in front of it unless it is NULL. */
void report_finding_text(FILE *out, const char *path, const struct carry_capture_finding *finding);
void report_finding_json(const char *path, const struct carry_capture_finding *finding);
void report_finding_columns(const char *path, const struct carry_capture_finding *finding,
                            enum columns columns);

/* Sets the members of an object that describe a sum, after those that say where it was seen. */
void report_finding_members(json_t *object, const struct carry_capture_finding *finding);

/* 2026-11-21T20:38:00.123456789Z, in a buffer of REPORT_TIME_SIZE; NULL if it is not known. */
#define REPORT_TIME_SIZE 64
char *report_time(char *buffer, uint64_t time_ns);

/* "1 packet", or "3 of 7 packets", in a buffer of REPORT_PACKETS_SIZE. */
#define REPORT_PACKETS_SIZE (3 * TEXT_SIZE)
char *report_packets(char *buffer, uint64_t packets, uint64_t unselected);

/* In which colour a verdict is written. */
enum colour report_verdict_colour(unsigned verdict);

/* Sets the members that say how a verdict came about. */
void report_certain_json(json_t *object, const struct carry_capture_finding *finding);

/* For partial checksums: is it certain, "true" or "false"? NULL for others. */
const char *report_certain(const struct carry_capture_finding *finding);

/* True if a protocol occurred. */
bool report_has(const struct carry_capture_summary *summary, unsigned protocol);

/* Packets that were not examined, or not all the way. */
uint64_t report_skipped(const struct carry_capture_summary *summary);

#endif
