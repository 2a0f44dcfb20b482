/* SPDX-License-Identifier: MIT */
/* Drops the privileges of a process beyond those of its user. */
#ifndef CARRY_TOOLS_LIVE_PRIVILEGES_H
#define CARRY_TOOLS_LIVE_PRIVILEGES_H

#include <stdbool.h>

/*
 * Drops all capabilities permanently; programs that are executed later cannot get any. Call it
 * before threads start. Changes to `user`, a name or a number; if that is NULL and sudo started the
 * process, to the caller of sudo. False with errno set, ENOENT if there is no such user.
 */
bool privileges_drop(const char *user);

#endif
