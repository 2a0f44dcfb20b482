/* SPDX-License-Identifier: MIT */
/*
 * Test results in the Test Anything Protocol, version 13. A test program calls tap_ok() once for
 * each point and returns tap_done() from main, which prints the plan and fails if any point failed
 * or none ran.
 */
#ifndef CARRY_TESTS_TAP_H
#define CARRY_TESTS_TAP_H

#include <stdbool.h>

/* One test point; `name` is a printf format. Returns `ok`. */
bool tap_ok(bool ok, const char *name, ...) __attribute__((format(printf, 2, 3)));

/* A test point that cannot run here, and why. */
void tap_skip(const char *name, const char *reason, ...) __attribute__((format(printf, 2, 3)));

/* A whole program that cannot run here. Returns the exit status, 0; nothing else may be printed. */
int tap_skip_all(const char *reason);

/* A line for people, about the point that follows or failed. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the plan. Returns the exit status: 0 if at least one point ran and none failed. */
int tap_done(void);

#endif
