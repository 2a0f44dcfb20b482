/* SPDX-License-Identifier: MIT */
/* What commits count and refuse, at the sites of harness/placed.h. Each check reports its tests. */
#ifndef CARRY_TESTS_CHECK_SITES_H
#define CARRY_TESTS_CHECK_SITES_H

#include "harness/placed.h"

/* Sites and commits are counted by what they are. The first states of calls: out of reach, direct,
 * inlined. */
void check_counts(void);

/* Unknown bytes in a site of any kind are refused, and nothing is written. */
void check_refused(void);

/* One bad site spoils a whole commit, also for other keys. */
void check_all_or_nothing(void);

/* Records of a damaged file, which point to where nothing is, are counted and left alone. */
void check_damaged(void);

struct carry_patch_counts placed_counts(void);

/* The sites of a kind, those in C included. */
size_t placed_site_count(const struct placed_kind *kind);

/* A copy of the program's text, to be freed, and whether the text is still the same. */
uint8_t *placed_copy_text(void);
bool placed_text_is(const uint8_t *copy);

#endif
