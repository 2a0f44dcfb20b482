/* SPDX-License-Identifier: MIT */
/* A large capture to measure on. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_MAKE_H
#define CARRY_TOOLS_BENCH_CAPTURE_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes a pcap file of at least `size` bytes: the packets of the capture `source` again and again
 * (those of its first packet's link type, the first megabytes), or if that is NULL, packets made
 * for the purpose: frames of 60, 590 and 1514 bytes at 7:4:1, two in three TCP, one in four IPv6,
 * all with right sums. False after a message.
 */
bool bench_capture_make(FILE *out, const char *source, uint64_t size);

#endif
