/* SPDX-License-Identifier: MIT */
/* Makes a large capture for measurements. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_MAKE_H
#define CARRY_TOOLS_BENCH_CAPTURE_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes a pcap file of at least `size` bytes. It repeats the packets of the capture `source`: the
 * first megabytes of them, if they have the first packet's link type. If `source` is NULL, it
 * repeats made-up frames of 60, 590 and 1514 bytes, 7:4:1, two in three TCP, one in four IPv6, all
 * with good sums. Returns false after a message.
 */
bool bench_capture_make(FILE *out, const char *source, uint64_t size);

#endif
