/* SPDX-License-Identifier: MIT */
/* Declares the parts of the page that have their own files. */
#ifndef CARRY_TOOLS_PAGE_PARTS_H
#define CARRY_TOOLS_PAGE_PARTS_H

#include "check/report.h"

/* The sizes of a row, and of all bytes around the field of a finding that the page shows. */
#define SAMPLE_ROW  8
#define SAMPLE_SIZE (12 * SAMPLE_ROW)

struct sample {
    uint64_t number; /* of the packet; 0: no bytes */
    uint32_t field_offset;
    uint32_t start, size; /* of `bytes` in the packet */
    uint8_t bytes[SAMPLE_SIZE];
};

struct sample page_sample(const struct carry_capture_finding *finding);

/* Writes one finding with its bytes; `path` and `sample` may be NULL. */
void page_write_finding(FILE *out, const char *path, const struct carry_capture_finding *finding,
                        const struct sample *sample);

/* Writes the sections about a summary (by protocol, why, by sender), except empty ones. */
void page_write_sections(FILE *out, const struct carry_capture_summary *summary);

/* Writes the charts of all verdicts except unverifiable, and of the `wrong` ones, over time;
   nothing if there are fewer than two spans of time. */
void page_write_timeline(FILE *out, const struct carry_capture_summary *summary, unsigned wrong);

/* Returns the CSS class of a verdict, such as "good". */
const char *page_verdict_class(unsigned verdict);

/* The start of a page up to its title, and all styles, which follow the title. The Python package
   uses both texts. */
extern const char page_head[], page_style[];

/* Writes the head of the page, including all styles. */
void page_write_head(FILE *out, const char *title);

#endif
