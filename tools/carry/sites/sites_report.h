/* SPDX-License-Identifier: MIT */
/* Prints the results of `carry sites`, as text and as JSON. */
#ifndef CARRY_TOOLS_SITES_REPORT_H
#define CARRY_TOOLS_SITES_REPORT_H

#include "sites/carry_sites.h"
#include "sites/state.h"

struct sites_report {
    const struct program *program;
    bool json;
    size_t objects; /* with records */
    size_t sites;
    size_t states[SITE_STATES];
    size_t findings;
    size_t notes;
    size_t looks_left;           /* how many times sites may still be read again */
    const struct object *gone;   /* the last object whose finding was dropped, as it was unloaded */
    const struct object *object; /* the object of the last site that was counted */
    const struct object_symbol *symbol; /* the last function that was printed */
};

/* Counts a site for the summary. */
void sites_report_count(struct sites_report *report, const struct site *site);

void sites_report_site(struct sites_report *report, const struct site *site);
void sites_report_summary(struct sites_report *report, bool checked);

enum finding_kind {
    FINDING_LOST,
    FINDING_BYTES,
    FINDING_RANGE,
    FINDING_INSTRUCTIONS,
    FINDING_BODY,
    FINDING_RELATIVE,
    FINDING_RECORD,
    FINDING_SECTION,
    FINDING_REGISTRATION,
    FINDING_OVERLAP,
    FINDING_FEATURE,
    FINDING_KEY,
    FINDING_LANDING,
    NOTE_TRAP, /* the first note: notes are not errors */
    NOTE_PAGES,
    FINDING_KINDS,
};

/* Reports a sentence about the site of `record`, or about `address` if there is no record. */
__attribute__((format(printf, 6, 7))) void
sites_report_finding(struct sites_report *report, enum finding_kind kind,
                     const struct object *object, uint64_t address, const struct record *record,
                     const char *format, ...);

#endif
