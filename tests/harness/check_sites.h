/* SPDX-License-Identifier: MIT */
/*
 * Checks what commits count and what they refuse, at the sites of harness/placed.h. Each check adds
 * its test points.
 */
#ifndef CARRY_TESTS_CHECK_SITES_H
#define CARRY_TESTS_CHECK_SITES_H

#include "harness/placed.h"

/*
 * Checks the counts of commits, of written sites, of branches, and of calls by their state: out of
 * range, direct, inlined.
 */
void check_counts(void);

/* Checks that unknown bytes in a site of any kind are refused, and nothing is written. */
void check_refused(void);

/* Checks that one bad site prevents a whole commit, even changes of other keys. */
void check_all_or_nothing(void);

/* Checks that records of a damaged file are counted and otherwise ignored if they point to unmapped
 * addresses, or if a jump's site lies in data. */
void check_damaged(void);

struct carry_patch_counts placed_counts(void);

/* Returns the number of sites of a kind, including the sites in C. */
size_t placed_site_count(const struct placed_kind *kind);

/* Returns a copy of the program's text, which the caller frees. */
uint8_t *placed_copy_text(void);

/* Returns whether the program's text equals `copy`. */
bool placed_text_is(const uint8_t *copy);

#endif
