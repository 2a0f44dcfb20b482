/* SPDX-License-Identifier: MIT */
/* Gives up what a process was allowed beyond its user. */
#ifndef CARRY_TOOLS_LIVE_PRIVILEGES_H
#define CARRY_TOOLS_LIVE_PRIVILEGES_H

#include <stdbool.h>

/*
 * For good, before threads start: no capability is left, nor can a program that is executed get
 * one. Goes on as `user`, a name or a number; NULL: what sudo started goes on as the user who
 * called it. False with errno set, ENOENT if there is no such user.
 */
bool privileges_drop(const char *user);

#endif
