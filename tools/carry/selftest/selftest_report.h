/* SPDX-License-Identifier: MIT */
/* Prints the head of each report: the tested library. */
#ifndef CARRY_TOOLS_SELFTEST_REPORT_H
#define CARRY_TOOLS_SELFTEST_REPORT_H

#include <jansson.h>

#include "selftest/library.h"

struct report_head {
    const struct library *library;
    const char *commit;   /* the commit from which the tool was built */
    const uint64_t *seed; /* or NULL */
};

/* Print, or return, the head and the files that are tested. */
void report_print_head(const struct report_head *head);
json_t *report_head_json(const struct report_head *head);

#endif
