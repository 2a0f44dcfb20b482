/* SPDX-License-Identifier: MIT */
/* What `carry check` prints, in the format that was asked for, and what it counts for the end. */
#ifndef CARRY_TOOLS_CHECK_PRINT_H
#define CARRY_TOOLS_CHECK_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/check_options.h"
#include "capture/page.h"
#include "capture/report.h"

/* So many captures that are not clean are named in the last line. */
#define CHECK_PRINT_NAMED 3

struct check_print {
    const struct check_options *options;
    struct page *page;                   /* which takes each capture too; NULL: none */
    bool many;                           /* there may be more than one capture */
    struct carry_capture_summary *total; /* of all captures so far */
    struct carry_capture_summary *empty; /* of a capture that could not be opened */
    uint64_t captures, damaged, failed, unchecked, not_clean;
    char *named[CHECK_PRINT_NAMED];
    size_t named_count;
};

/* False without memory; check_print_close() is due all the same. */
bool check_print_open(struct check_print *print, const struct check_options *options, bool many);
void check_print_close(struct check_print *print);

/* The line above all others. */
void check_print_header(const struct check_print *print);

/* A checksum that --bad-only lists. */
void check_print_finding(const struct check_print *print, const char *path,
                         const struct carry_capture_finding *finding);

/* A capture that was read, and one that could not be opened; returns its exit status. */
int check_print_capture(struct check_print *print, const struct report *report);
int check_print_unopened(struct check_print *print, const char *path, const char *reason);

/* What all captures come to, of folders in which so many other files were `skipped`. */
struct report_total check_print_sum(const struct check_print *print, uint64_t skipped);

/* All captures, of folders in which so many other files were `skipped`. */
void check_print_total(const struct check_print *print, uint64_t skipped);

#endif
