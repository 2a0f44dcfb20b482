/* SPDX-License-Identifier: MIT */
/* Reports what is wrong with the sites of an object, for `carry sites --check`. */
#ifndef CARRY_TOOLS_SITES_CHECK_H
#define CARRY_TOOLS_SITES_CHECK_H

#include "sites/sites_report.h"

/* Checks the section of records and each record; counts the sites. */
void sites_check_records(struct sites_report *report, const struct object *object);

/* Checks the text: reports sites without a record, and a section that nothing registers. */
void sites_check_text(struct sites_report *report, const struct object *object);

#endif
