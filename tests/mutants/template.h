/* SPDX-License-Identifier: MIT */
/* Mutants of functions that write packets from templates, and the right function. */
#ifndef CARRY_TESTS_BROKEN_TEMPLATE_H
#define CARRY_TESTS_BROKEN_TEMPLATE_H

#include "harness/check_template.h"

enum broken_template {
    BROKEN_TEMPLATE_NOT,     /* no fault: writes the fields and recomputes the checksums */
    BROKEN_TEMPLATE_FORGETS, /* writes the fields, but updates no checksum */
    BROKEN_TEMPLATE_OUTER,   /* leaves the innermost checksum unchanged */
    BROKEN_TEMPLATE_FILLS,   /* stores checksums that were absent */
    BROKEN_TEMPLATE_NO_ZERO, /* stores UDP's 0xffff as 0 */
    BROKEN_TEMPLATE_BEHIND,  /* overwrites the byte after the last field */
    BROKEN_TEMPLATE_READS,   /* reads past the end of the values */
    BROKEN_TEMPLATE_ROUNDS,  /* leaves another rounding mode */
};

/* Selects a mutant; only one at a time. */
void broken_template(enum broken_template mutant);
extern const struct template_maker broken_template_maker;

#endif
