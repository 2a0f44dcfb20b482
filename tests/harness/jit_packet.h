/* SPDX-License-Identifier: MIT */
/* Runs a packet function made at run time on one frame. */
#ifndef CARRY_TESTS_JIT_PACKET_H
#define CARRY_TESTS_JIT_PACKET_H

#include <carry/jit.h>

#define JIT_PACKET_BYTES_MAX (1 << 20)

/*
 * Returns whether a function made for a spec treats the frame, placed next to forbidden pages, like
 * the function of <carry/packet.h>. The function may return CARRY_JIT_OTHER_SHAPE, and change
 * nothing, only where carry_jit_packet_shape() does not find the spec's shape either. Counts all
 * other frames in `known`.
 */
bool jit_packet_agrees(const struct carry_jit_packet_spec *spec, carry_jit_packet_fn *function,
                       const struct carry_frame *frame, size_t capacity, size_t *known);

#endif
