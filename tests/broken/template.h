/* SPDX-License-Identifier: MIT */
/* Writers of templates that are broken, and the right one that they are twins of. */
#ifndef CARRY_TESTS_BROKEN_TEMPLATE_H
#define CARRY_TESTS_BROKEN_TEMPLATE_H

#include "harness/check_template.h"

enum broken_template {
    BROKEN_TEMPLATE_NOT,     /* writes, and has the checksums recomputed */
    BROKEN_TEMPLATE_FORGETS, /* writes and updates nothing */
    BROKEN_TEMPLATE_OUTER,   /* leaves the innermost checksum as it is */
    BROKEN_TEMPLATE_FILLS,   /* makes checksums where there were none */
    BROKEN_TEMPLATE_NO_ZERO, /* stores UDP's 0xffff as 0 */
    BROKEN_TEMPLATE_BEHIND,  /* spoils the byte behind the last field */
    BROKEN_TEMPLATE_READS,   /* reads eight bytes of values where the last field has fewer */
    BROKEN_TEMPLATE_ROUNDS,  /* leaves another rounding mode */
};

/* Makes that one: one at a time. */
void broken_template(enum broken_template twin);
extern const struct template_maker broken_template_maker;

#endif
