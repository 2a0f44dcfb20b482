/* SPDX-License-Identifier: MIT */
/* Reads a capture with libpcap and does nothing else: the minimal cost of any program that uses
 * libpcap. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_LOOP_H
#define CARRY_TOOLS_BENCH_CAPTURE_LOOP_H

/* The exit status that shells use for a program that they do not find. */
#define BENCH_CAPTURE_MISSING 127

/*
 * Calls an empty function for each packet of a file. Returns STATUS_CLEAN, BENCH_CAPTURE_MISSING
 * if libpcap is absent, or STATUS_ERROR after a message.
 */
int bench_capture_loop(const char *path);

#endif
