/* SPDX-License-Identifier: MIT */
/*
 * Writes the page of `carry check --html` about all captures. The page loads nothing and runs
 * nothing. Its size is limited: the first captures and findings are listed, and the rest is
 * counted.
 */
#ifndef CARRY_TOOLS_PAGE_H
#define CARRY_TOOLS_PAGE_H

#include <sys/stat.h>

#include "check/report.h"

#define PAGE_CAPTURES_MAX 1000
#define PAGE_FINDINGS_MAX 50

struct page;

/* Opens the page; `many`: there may be more than one capture. Returns NULL with errno set on
   failure: see output_problem() in output.h. */
struct page *page_open(const char *path, bool many);

/* Work like bad_file_restrict() and bad_file_replaces(): the page has bytes of packets, too. */
void page_restrict(struct page *page, mode_t mode);
bool page_replaces(const struct page *page, const struct stat *capture);

/* Keeps bytes of a finding's packet until page_add_capture() adds the current capture. */
void page_add_finding(struct page *page, const struct carry_capture_finding *finding);

/* Adds a capture that was checked, or one that could not be opened. */
void page_add_capture(struct page *page, const struct report *report);

/* Writes and publishes the page if `keep` is true, otherwise discards it. Returns false with errno
   set on failure. */
bool page_close(struct page *page, const struct report_total *total, bool keep);

#endif
