/* SPDX-License-Identifier: MIT */
/* The least that a program built on libpcap takes to go through a capture. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_LOOP_H
#define CARRY_TOOLS_BENCH_CAPTURE_LOOP_H

/* The exit status of a program that is not there, as shells have it. */
#define BENCH_CAPTURE_MISSING 127

/*
 * Has libpcap call an empty function for each packet of a file. Returns STATUS_CLEAN,
 * BENCH_CAPTURE_MISSING where there is no libpcap, or STATUS_ERROR after a message.
 */
int bench_capture_loop(const char *path);

#endif
