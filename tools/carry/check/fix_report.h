/* SPDX-License-Identifier: MIT */
/* Prints the results of `carry fix`: a summary as text or JSON, and a log of changed and remaining
   sums. */
#ifndef CARRY_TOOLS_FIX_REPORT_H
#define CARRY_TOOLS_FIX_REPORT_H

#include <stdio.h>

#include <carry/capture.h>

struct fix_report {
    const char *input;
    const char *output; /* NULL: nothing was written */
    const struct carry_capture_repairs *repairs;
    struct carry_capture_error error; /* its code is CARRY_OK, or the capture is damaged */
};

void fix_report_text(const struct fix_report *report);
void fix_report_line(const struct fix_report *report); /* for one of several captures */
void fix_report_json(FILE *out, const struct fix_report *report);

/* Prints the last line for a folder. */
void fix_report_folder(uint64_t captures, uint64_t skipped);

/* Prints one line of JSON about a sum that changes or is left unrepaired. */
void fix_log(FILE *log, const struct carry_capture_change *change);

#endif
