/* SPDX-License-Identifier: MIT */
/*
 * A program of two files: optimisation across files must keep the symbols that only assembly names.
 */
#ifndef CARRY_TESTS_STRANGERS_KEYS_H
#define CARRY_TESTS_STRANGERS_KEYS_H

#include <carry/patch.h>

CARRY_OP(unsigned long, step, unsigned long);
CARRY_KEY(shared);

int use_elsewhere(void);

#endif
