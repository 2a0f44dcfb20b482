/* SPDX-License-Identifier: MIT */
/* Readers of an output, who may let it wait. */
#ifndef CARRY_TOOLS_LIVE_READER_H
#define CARRY_TOOLS_LIVE_READER_H

#include <stdbool.h>

/*
 * Waits until the descriptor takes bytes. Once `stop_event` is readable it waits no longer than
 * that, and returns false if the reader has taken nothing.
 */
bool reader_await(int descriptor, int stop_event, int patience_ms);

#endif
