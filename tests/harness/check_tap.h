/* SPDX-License-Identifier: MIT */
/* Checks of the output of small programs that use tap.h, in child processes. */
#ifndef CARRY_TESTS_CHECK_TAP_H
#define CARRY_TESTS_CHECK_TAP_H

/* Runs the programs. Must be called before the first point: child processes inherit the count. */
void check_tap_run(void);

/* Checks the output of the programs, and a printed command, with a test point for each. */
void check_tap_report(void);

/*
 * Runs points of which the second fails, and returns the exit status. If check_tap_run() started
 * this process, main() must return this status.
 */
int check_tap_fail(void);

#endif
