/* SPDX-License-Identifier: MIT */
/*
 * Prints the results of `carry check`: report.c as text, report_json.c as JSON,
 * report_columns.c as columns.
 */
#ifndef CARRY_TOOLS_REPORT_H
#define CARRY_TOOLS_REPORT_H

#include <carry/capture.h>

#include "check/address.h"
#include "common/json.h"
#include "common/text.h"

struct report {
    const char *path;
    const struct carry_capture_summary *summary;
    unsigned wrong, listed;           /* sets of verdicts */
    struct carry_capture_error error; /* its code is CARRY_OK if the whole capture was read */
    size_t shown;                     /* at most this many findings (0: all that the summary
                                         keeps) */
};

struct report_total {
    const struct carry_capture_summary *summary;
    unsigned wrong; /* set of verdicts */
    uint64_t captures, damaged, failed, skipped;
    uint64_t unchecked;       /* captures in which nothing was checked */
    uint64_t accepted;        /* captures in which every checksum is 0, if options accept that */
    uint64_t not_clean;       /* captures with an exit status other than 0 */
    const char *const *named; /* names of the first of the captures in `not_clean` */
    size_t named_count;
};

/* Prints the summary of one capture. */
void report_text(FILE *out, const struct report *report);
void report_json(FILE *out, const struct report *report);

/* Prints the summary of one capture as columns, separated by tabs or commas. */
enum columns { COLUMNS_TSV, COLUMNS_CSV };
void report_columns(const struct report *report, enum columns columns);

/* Prints one line about one of several captures. */
void report_line(FILE *out, const struct report *report);

/* Prints the total over all captures; the last line names the first captures that are not clean. */
void report_total(const struct report_total *total);

/* Prints the names of the columns, above the lines of all captures. */
void report_columns_header(enum columns columns);
void report_finding_columns_header(enum columns columns);

/* Prints one line about one sum. As text, the line begins with `path` unless that is NULL. */
void report_finding_text(FILE *out, const char *path, const struct carry_capture_finding *finding);
void report_finding_json(const char *path, const struct carry_capture_finding *finding);
void report_finding_columns(const char *path, const struct carry_capture_finding *finding,
                            enum columns columns);

/* Sets the members of an object that describe a sum. The caller has set the members that name its
   capture or its interface. */
void report_finding_members(json_t *object, const struct carry_capture_finding *finding);

/* Writes a time such as 2026-11-21T20:38:00.123456789Z to a buffer of REPORT_TIME_SIZE. Returns the
   buffer, or NULL if the time is unknown. */
#define REPORT_TIME_SIZE 64
char *report_time(char *buffer, uint64_t time_ns);

/* Writes "1 packet" or "3 of 7 packets" to a buffer of REPORT_PACKETS_SIZE. Returns the buffer. */
#define REPORT_PACKETS_SIZE (3 * TEXT_SIZE)
char *report_packets(char *buffer, uint64_t packets, uint64_t unselected);

enum colour report_verdict_colour(unsigned verdict);

/* Sets "certain", whether a partial verdict is certain, and "bit", the flipped bit that explains a
   bad sum. Each is null for other sums. */
void report_certain_json(json_t *object, const struct carry_capture_finding *finding);

/* Returns "true" or "false" for a partial checksum that is certain or inferred; NULL for others. */
const char *report_certain(const struct carry_capture_finding *finding);

/* Checks whether a protocol occurred. */
bool report_has(const struct carry_capture_summary *summary, unsigned protocol);

/* Returns the number of packets that were not examined in full. */
uint64_t report_skipped(const struct carry_capture_summary *summary);

#endif
