/* SPDX-License-Identifier: MIT */
/* Checks the output of tap.h: of small programs, in child processes. */
#ifndef CARRY_TESTS_CHECK_TAP_H
#define CARRY_TESTS_CHECK_TAP_H

/* Runs the programs. Must be called before the first point: child processes inherit the count. */
void check_tap_run(void);

/* Reports their output, a point for each program. */
void check_tap_report(void);

/* Fails its second point. A process that check_tap_run() has started returns its result. */
int check_tap_fail(void);

#endif
