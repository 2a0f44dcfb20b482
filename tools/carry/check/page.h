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

/*
 * Opens the page; `many`: there may be more than one capture. NULL with errno set: see
 * output_problem() in output.h.
 */
struct page *page_open(const char *path, bool many);

/* Restrict the page and protect captures like the functions of bad_file.h, since the page contains
   bytes of packets. */
void page_restrict(struct page *page, mode_t mode);
bool page_replaces(const struct page *page, const struct stat *capture);

/* Adds a finding of the current capture, with its packet. */
void page_add_finding(struct page *page, const struct carry_capture_finding *finding);

/* Adds a capture that was checked, or could not be. */
void page_add_capture(struct page *page, const struct report *report);

/* Writes and publishes the page if `keep`; false with errno set if that failed. */
bool page_close(struct page *page, const struct report_total *total, bool keep);

#endif
