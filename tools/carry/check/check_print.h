/* SPDX-License-Identifier: MIT */
/* Prints the results of `carry check` in the requested format, and counts them for the total. */
#ifndef CARRY_TOOLS_CHECK_PRINT_H
#define CARRY_TOOLS_CHECK_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/check_options.h"
#include "check/page.h"
#include "check/report.h"

/* The last line names at most this many captures that are not clean. */
#define CHECK_PRINT_NAMED 3

struct check_print {
    const struct check_options *options;
    struct page *page;                   /* each capture is added to it; NULL: none */
    bool many;                           /* there may be more than one capture */
    struct carry_capture_summary *total; /* of all captures so far */
    struct carry_capture_summary *empty; /* for captures that could not be opened */
    uint64_t captures, damaged, failed, unchecked, accepted, wrong, not_clean;
    char *named[CHECK_PRINT_NAMED];
    size_t named_count;
};

/* Prepares the output. Returns false if there is no memory. Call check_print_close() even then. */
bool check_print_open(struct check_print *print, const struct check_options *options, bool many);
void check_print_close(struct check_print *print);

/* Prints the names of the columns, if the format has any. */
void check_print_header(const struct check_print *print);

/* Prints a checksum that --bad-only lists. */
void check_print_finding(const struct check_print *print, const char *path,
                         const struct carry_capture_finding *finding);

/* Prints and counts a capture that was read, or one that could not be opened; returns its exit
   status. */
int check_print_capture(struct check_print *print, const struct report *report);
int check_print_unopened(struct check_print *print, const char *path, const char *reason);

/* Returns the total over all captures; `skipped` is the number of files in folders that are not
   captures. */
struct report_total check_print_sum(const struct check_print *print, uint64_t skipped);

/* Prints the total over all captures, if the output has one and it does not only repeat a message.
 */
void check_print_total(const struct check_print *print, uint64_t skipped);

#endif
