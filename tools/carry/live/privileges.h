/* SPDX-License-Identifier: MIT */
/* Drops the privileges of a process beyond the privileges of its user. */
#ifndef CARRY_TOOLS_LIVE_PRIVILEGES_H
#define CARRY_TOOLS_LIVE_PRIVILEGES_H

#include <stdbool.h>

/*
 * Drops all capabilities permanently; programs that are executed later cannot get any. Changes to
 * `user`, a name or a number. If `user` is NULL and sudo started the process, changes to the caller
 * of sudo. Call it before threads start. Returns false with errno set on failure: ENOENT if there
 * is no such user.
 */
bool privileges_drop(const char *user);

#endif
