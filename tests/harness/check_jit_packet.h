/* SPDX-License-Identifier: MIT */
/*
 * Checks of packet functions made at run time: their answers, lists and writes must equal those of
 * the functions of <carry/packet.h>, byte by byte, and they must access nothing else.
 */
#ifndef CARRY_TESTS_CHECK_JIT_PACKET_H
#define CARRY_TESTS_CHECK_JIT_PACKET_H

#include "harness/effort.h"
#include "harness/stacks.h"
#include "harness/verdict.h"

/* Runs every check of a function for a stack; with CARRY_JIT_FILL, of one that fills in. */
struct verdict check_jit_packet(const struct carry_jit_packet_spec *spec,
                                carry_jit_packet_fn *function, const struct effort *effort);

#endif
