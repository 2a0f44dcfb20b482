/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TESTS_BAIL_H
#define CARRY_TESTS_BAIL_H

/* Ends a program that cannot go on (bail.c): here with a TAP "Bail out!". `carry selftest`, which
 * runs some of these checks, ends in a way of its own. */
__attribute__((noreturn)) void bail_out(const char *why);

#endif
