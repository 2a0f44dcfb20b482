/* SPDX-License-Identifier: MIT */
/*
 * Checks of packet functions made at run time: what they answer, list and write is to the last
 * byte what the function of <carry/packet.h> does, and they touch nothing else.
 */
#ifndef CARRY_TESTS_CHECK_JIT_PACKET_H
#define CARRY_TESTS_CHECK_JIT_PACKET_H

#include "harness/effort.h"
#include "harness/stacks.h"
#include "harness/verdict.h"

/* Every check there is, of a function for a stack; with CARRY_JIT_FILL, of one that fills in. */
struct verdict check_jit_packet(const struct carry_jit_packet_spec *spec,
                                carry_jit_packet_fn *function, const struct effort *effort);

#endif
