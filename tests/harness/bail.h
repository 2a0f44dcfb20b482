/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TESTS_BAIL_H
#define CARRY_TESTS_BAIL_H

/*
 * Ends a program that cannot continue. bail.c prints a TAP "Bail out!"; `carry selftest` runs some
 * of these checks, and has its own definition.
 */
__attribute__((noreturn)) void bail_out(const char *why);

#endif
