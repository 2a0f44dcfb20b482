/* SPDX-License-Identifier: MIT */
/* `carry sites --check`: what is wrong with the sites of an object. */
#ifndef CARRY_TOOLS_SITES_CHECK_H
#define CARRY_TOOLS_SITES_CHECK_H

#include "sites/report.h"

/* The section of records, and each of them. Counts the sites, too. */
void sites_check_records(struct sites_report *report, const struct object *object);

/* What the text tells: sites that have no record, and whether anything registers the section. */
void sites_check_text(struct sites_report *report, const struct object *object);

#endif
