/* SPDX-License-Identifier: MIT */
/*
 * Checks of packet functions made at run time: they must return, list and write the same as the
 * functions of <carry/packet.h>, byte by byte, and access no other memory.
 */
#ifndef CARRY_TESTS_CHECK_JIT_PACKET_H
#define CARRY_TESTS_CHECK_JIT_PACKET_H

#include "harness/effort.h"
#include "harness/stacks.h"
#include "harness/verdict.h"

/*
 * Runs every check of a function made for `spec`; with CARRY_JIT_FILL, the function fills in sums.
 */
struct verdict check_jit_packet(const struct carry_jit_packet_spec *spec,
                                carry_jit_packet_fn *function, const struct effort *effort);

#endif
