/* SPDX-License-Identifier: MIT */
/* Included by C and assembly. */
#ifndef CARRY_TESTS_STACK_H
#define CARRY_TESTS_STACK_H

/*
 * The most stack that a kernel may use, because the stack of an operating-system kernel is small.
 * Functions made at run time pass frames to the walk, which needs more stack where the compiler
 * does not optimize.
 */
#ifdef __OPTIMIZE__
#define CALL_STACK_BYTES 4096
#else
#define CALL_STACK_BYTES 16384
#endif

#endif
