/* SPDX-License-Identifier: MIT */
/* The parts of the page that have files of their own. */
#ifndef CARRY_TOOLS_PAGE_PARTS_H
#define CARRY_TOOLS_PAGE_PARTS_H

#include "capture/report.h"

/* Bytes of a packet around the field of a finding, in rows. */
#define SAMPLE_ROW  8
#define SAMPLE_SIZE (12 * SAMPLE_ROW)

struct sample {
    uint64_t number; /* of the packet; 0: there are no bytes */
    uint32_t field_offset;
    uint32_t start, size; /* of the bytes in the packet */
    uint8_t bytes[SAMPLE_SIZE];
};

struct sample page_sample(const struct carry_capture_finding *finding);

/* One finding with its bytes; `path` and `sample` may be NULL. */
void page_write_finding(FILE *out, const char *path, const struct carry_capture_finding *finding,
                        const struct sample *sample);

/* The sections on a summary: by protocol, why, by sender; each only if it has something to say. */
void page_write_sections(FILE *out, const struct carry_capture_summary *summary);

/* Verdicts over time, and those of the set that is wrong; nothing if the times are one. */
void page_write_timeline(FILE *out, const struct carry_capture_summary *summary, unsigned wrong);

/* The class of styles that a verdict has: "good", "bad". */
const char *page_verdict_class(unsigned verdict);

/* The start of a page up to its title, and all styles, which follow it. Python uses both. */
extern const char page_head[], page_style[];

/* The head of the page up to its content, with all styles. */
void page_write_head(FILE *out, const char *title);

#endif
