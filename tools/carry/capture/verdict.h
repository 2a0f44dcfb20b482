/* SPDX-License-Identifier: MIT */
/* Sets of verdicts: 1u << verdict, or-ed. */
#ifndef CARRY_TOOLS_VERDICT_H
#define CARRY_TOOLS_VERDICT_H

#include <stdbool.h>

static inline bool verdict_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

#endif
