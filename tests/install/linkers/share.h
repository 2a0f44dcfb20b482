/* SPDX-License-Identifier: MIT */
/* The functions that share.c exports. */
#ifndef CARRY_TESTS_LINKERS_SHARE_H
#define CARRY_TESTS_LINKERS_SHARE_H

#include <carry/patch.h>

CARRY_OP(long, share_op, long);
CARRY_KEY(share_key);
CARRY_OP(long, share_choice, long);

/* Returns a + 1 or a - 1, depending on the operation; negated if the key is on. */
CARRY_API long share_run(long a);
CARRY_API int share_set(bool subtract, bool negate);
CARRY_API bool share_mode(void);
CARRY_API int share_set_mode(bool on);

#endif
