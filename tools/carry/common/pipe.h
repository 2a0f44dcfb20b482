/* SPDX-License-Identifier: MIT */
/* Pipes between this program and others. */
#ifndef CARRY_TOOLS_PIPE_H
#define CARRY_TOOLS_PIPE_H

/*
 * Lets more bytes stand in a pipe, so that the programs at its ends take turns less often: `carry
 * fix` between two of 64 KiB waits 24 times as often as between two of 1 MiB. What is no pipe, or
 * may not grow, stays as it is.
 */
void pipe_enlarge(int descriptor);

#endif
