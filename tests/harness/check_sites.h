/* SPDX-License-Identifier: MIT */
/*
 * Checks what commits count and refuse, at the sites of harness/placed.h. Each check adds its test
 * points.
 */
#ifndef CARRY_TESTS_CHECK_SITES_H
#define CARRY_TESTS_CHECK_SITES_H

#include "harness/placed.h"

/* Checks that sites and commits are counted by their state: calls out of range, direct calls,
 * inlined calls. */
void check_counts(void);

/* Checks that unknown bytes in a site of any kind are refused, and nothing is written. */
void check_refused(void);

/* Checks that one bad site prevents a whole commit, also for other keys. */
void check_all_or_nothing(void);

/* Checks that records of a damaged file are counted and otherwise ignored if they point to unmapped
 * addresses. */
void check_damaged(void);

struct carry_patch_counts placed_counts(void);

/* Returns the number of sites of a kind, including those in C. */
size_t placed_site_count(const struct placed_kind *kind);

/*
 * Return a copy of the program's text, for the caller to free, and whether the text still equals a
 * copy.
 */
uint8_t *placed_copy_text(void);
bool placed_text_is(const uint8_t *copy);

#endif
