/* SPDX-License-Identifier: MIT */
/* What `carry check` prints of a capture: report.c for people, report_json.c for programs. */
#ifndef CARRY_TOOLS_REPORT_H
#define CARRY_TOOLS_REPORT_H

#include "capture.h"
#include "tally.h"

struct report {
    const char *path;
    const struct tally *tally;
    const struct finding *findings; /* the first bad or illegal sums */
    size_t findings_count;
    enum capture_result end;
    const struct capture_problem *problem; /* valid if `end` is not CAPTURE_END */
};

/* The summary of one capture. */
void report_text(const struct report *report);
void report_json(const struct report *report);

/* A line on all captures; `damaged` and `failed` count those that ended early. */
void report_total(const struct tally *total, unsigned captures, unsigned damaged, unsigned failed);

/* One line on one bad or illegal sum; `path` stands in front of it unless it is NULL. */
void report_finding_text(const char *path, const struct finding *finding);
void report_finding_json(const char *path, const struct finding *finding);

/* Static name of a link type, or NULL. */
const char *report_link_name(uint32_t linktype);

#endif
