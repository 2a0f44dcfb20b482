/* SPDX-License-Identifier: MIT */
/* How each report begins: which library it is about. */
#ifndef CARRY_TOOLS_SELFTEST_REPORT_H
#define CARRY_TOOLS_SELFTEST_REPORT_H

#include <jansson.h>

#include "selftest/library.h"

struct report_head {
    const struct library *library;
    const char *commit;   /* that the tool was built from */
    const uint64_t *seed; /* NULL where there is none */
};

/* That, and the files that are tested. */
void report_print_head(const struct report_head *head);
json_t *report_head_json(const struct report_head *head);

#endif
