/* SPDX-License-Identifier: MIT */
/* For C and for assembly. */
#ifndef CARRY_TESTS_STACK_H
#define CARRY_TESTS_STACK_H

/*
 * A kernel may use this much stack: it may run on a kernel's small one. Functions made at run time
 * hand frames over to the walk, which takes more where the compiler does not optimize.
 */
#ifdef __OPTIMIZE__
#define CALL_STACK_BYTES 4096
#else
#define CALL_STACK_BYTES 16384
#endif

#endif
