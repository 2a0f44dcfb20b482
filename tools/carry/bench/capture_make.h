/* SPDX-License-Identifier: MIT */
/* Makes a large capture for measurements. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_MAKE_H
#define CARRY_TOOLS_BENCH_CAPTURE_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes a pcap file of at least `size` bytes. It repeats packets from the first megabytes of the
 * capture `source`; packets of another link type than the first packet's are skipped. If `source`
 * is NULL, it repeats made-up frames of 60, 590 and 1514 bytes in the ratio 7:4:1: two in three are
 * TCP, one in four is IPv6, and all sums are good. Returns false after a message.
 */
bool bench_capture_make(FILE *out, const char *source, uint64_t size);

#endif
