/* SPDX-License-Identifier: MIT */
/* The functions of the object that test_patch_bti loads: see bti_object.c. */
#ifndef CARRY_TESTS_BTI_OBJECT_H
#define CARRY_TESTS_BTI_OBJECT_H

#include <carry/patch.h>

CARRY_API struct carry_key *bti_key(void);
CARRY_API uint64_t bti_choice(void);
CARRY_API uint64_t bti_padded(void);
CARRY_API uint64_t bti_bare(void);

#endif
