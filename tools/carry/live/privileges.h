/* SPDX-License-Identifier: MIT */
/* Gives up what a process was allowed beyond its user. */
#ifndef CARRY_TOOLS_LIVE_PRIVILEGES_H
#define CARRY_TOOLS_LIVE_PRIVILEGES_H

#include <stdbool.h>

/*
 * For good, before threads start: no capability is left, nor can a program that is executed get
 * one. What sudo started goes on as the user who called it. False with errno set.
 */
bool privileges_drop(void);

#endif
