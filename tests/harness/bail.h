/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TESTS_BAIL_H
#define CARRY_TESTS_BAIL_H

/*
 * Ends a program that cannot continue. The definition in bail.c prints a TAP "Bail out!". `carry
 * selftest`, which runs some of the checks of the tests, has a definition of its own.
 */
__attribute__((noreturn)) void bail_out(const char *why);

#endif
