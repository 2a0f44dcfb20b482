/* SPDX-License-Identifier: MIT */
/* Mutants of a packet function that was generated at run time, with one fault each, and the right
 * function. */
#ifndef CARRY_TESTS_BROKEN_JIT_PACKET_H
#define CARRY_TESTS_BROKEN_JIT_PACKET_H

#include <carry/jit.h>

extern carry_jit_packet_fn *broken_jit_packet_not; /* the right function */

carry_jit_packet_fn broken_jit_packet_lists_early; /* writes before it checks the shape */
carry_jit_packet_fn broken_jit_packet_reads_on;    /* reads the byte after the captured ones */
carry_jit_packet_fn broken_jit_packet_overflows;   /* ignores the capacity */
carry_jit_packet_fn broken_jit_packet_shy;         /* rejects frames of an odd size */
carry_jit_packet_fn broken_jit_packet_blames;      /* reports partial sums as bad */
carry_jit_packet_fn broken_jit_packet_forgives;    /* reports absent sums as good */
carry_jit_packet_fn broken_jit_packet_forgets;     /* does not list the last sum that it fills in */
carry_jit_packet_fn broken_jit_packet_spoils;      /* changes a byte of the filled-in frame */

#endif
