/* SPDX-License-Identifier: MIT */
/* Broken twins of a packet function made at run time, each of which passes on what that answers. */
#ifndef CARRY_TESTS_BROKEN_JIT_PACKET_H
#define CARRY_TESTS_BROKEN_JIT_PACKET_H

#include <carry/jit.h>

extern carry_jit_packet_fn *broken_jit_packet_not; /* what they are twins of */

carry_jit_packet_fn broken_jit_packet_lists_early; /* writes before it looks at the shape */
carry_jit_packet_fn broken_jit_packet_reads_on;    /* reads the byte behind those captured */
carry_jit_packet_fn broken_jit_packet_overflows;   /* relies on room for all sums */
carry_jit_packet_fn broken_jit_packet_shy;         /* knows no frame of an odd size */
carry_jit_packet_fn broken_jit_packet_blames;      /* partial sums are bad */
carry_jit_packet_fn broken_jit_packet_forgives;    /* absent sums are good */
carry_jit_packet_fn broken_jit_packet_forgets;     /* the last sum that it fills in is not listed */
carry_jit_packet_fn broken_jit_packet_spoils;      /* a byte of what it fills in is another */

#endif
