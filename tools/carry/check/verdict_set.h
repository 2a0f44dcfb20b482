/* SPDX-License-Identifier: MIT */
/* Tests sets of verdicts: bits 1u << verdict. */
#ifndef CARRY_TOOLS_VERDICT_H
#define CARRY_TOOLS_VERDICT_H

#include <stdbool.h>

static inline bool verdict_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

#endif
