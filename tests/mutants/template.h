/* SPDX-License-Identifier: MIT */
/* Mutants of functions made of templates, and the right one. */
#ifndef CARRY_TESTS_BROKEN_TEMPLATE_H
#define CARRY_TESTS_BROKEN_TEMPLATE_H

#include "harness/check_template.h"

enum broken_template {
    BROKEN_TEMPLATE_NOT,     /* writes, and recomputes the checksums */
    BROKEN_TEMPLATE_FORGETS, /* writes and updates nothing */
    BROKEN_TEMPLATE_OUTER,   /* leaves the innermost checksum unchanged */
    BROKEN_TEMPLATE_FILLS,   /* stores checksums where there were none */
    BROKEN_TEMPLATE_NO_ZERO, /* stores UDP's 0xffff as 0 */
    BROKEN_TEMPLATE_BEHIND,  /* overwrites the byte after the last field */
    BROKEN_TEMPLATE_READS,   /* reads eight bytes of values where the last field has fewer */
    BROKEN_TEMPLATE_ROUNDS,  /* leaves another rounding mode */
};

/* Selects a mutant; only one at a time. */
void broken_template(enum broken_template mutant);
extern const struct template_maker broken_template_maker;

#endif
