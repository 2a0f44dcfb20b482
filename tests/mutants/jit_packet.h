/* SPDX-License-Identifier: MIT */
/* Mutants of a packet function made at run time. Each changes its answer. */
#ifndef CARRY_TESTS_BROKEN_JIT_PACKET_H
#define CARRY_TESTS_BROKEN_JIT_PACKET_H

#include <carry/jit.h>

extern carry_jit_packet_fn *broken_jit_packet_not; /* the right function */

carry_jit_packet_fn broken_jit_packet_lists_early; /* writes before it checks the shape */
carry_jit_packet_fn broken_jit_packet_reads_on;    /* reads the byte after the captured ones */
carry_jit_packet_fn broken_jit_packet_overflows;   /* relies on room for all sums */
carry_jit_packet_fn broken_jit_packet_shy;         /* recognises no frame of an odd size */
carry_jit_packet_fn broken_jit_packet_blames;      /* partial sums are bad */
carry_jit_packet_fn broken_jit_packet_forgives;    /* absent sums are good */
carry_jit_packet_fn broken_jit_packet_forgets;     /* the last sum that it fills in is not listed */
carry_jit_packet_fn broken_jit_packet_spoils;      /* changes a byte of the filled-in frame */

#endif
