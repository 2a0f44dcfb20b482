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

/* Checks whether writing a one-line message would return at once, with success or an error. */
bool reader_is_ready(int descriptor);

#endif
