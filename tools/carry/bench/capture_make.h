/* SPDX-License-Identifier: MIT */
/* Makes a large capture for measurements. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_MAKE_H
#define CARRY_TOOLS_BENCH_CAPTURE_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes a pcap file of at least `size` bytes. The file repeats packets from the first megabytes of
 * the capture `source`; packets with another link type than the first packet are skipped. If
 * `source` is NULL, the file repeats made-up frames of 60, 590 and 1514 bytes in the ratio 7:4:1:
 * two in three are TCP, one in five is IPv6, and all sums are good. Returns false after a message
 * on failure.
 */
bool bench_capture_make(FILE *out, const char *source, uint64_t size);

#endif
