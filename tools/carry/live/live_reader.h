/* SPDX-License-Identifier: MIT */
/* Waits for the reader of an output. */
#ifndef CARRY_TOOLS_LIVE_READER_H
#define CARRY_TOOLS_LIVE_READER_H

#include <stdbool.h>

/*
 * Waits until the descriptor accepts bytes. Once `stop_event` is readable, waits at most
 * `timeout_ms` longer, and returns false if the reader has read nothing by then.
 */
bool reader_await(int descriptor, int stop_event, int timeout_ms);

/* Returns true if writing a one-line message does not block, or fails at once. */
bool reader_is_ready(int descriptor);

#endif
