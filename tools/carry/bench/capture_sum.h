/* SPDX-License-Identifier: MIT */
/* Maps a capture and sums its bytes: the minimal cost of any program that looks at all of them. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_SUM_H
#define CARRY_TOOLS_BENCH_CAPTURE_SUM_H

/* Sums all bytes of a file. Returns STATUS_CLEAN, or STATUS_ERROR after a message. */
int bench_capture_sum(const char *path);

#endif
