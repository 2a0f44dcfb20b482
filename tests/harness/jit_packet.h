/* SPDX-License-Identifier: MIT */
/* A packet function made at run time, on one frame. */
#ifndef CARRY_TESTS_JIT_PACKET_H
#define CARRY_TESTS_JIT_PACKET_H

#include <carry/jit.h>

#define JIT_PACKET_BYTES_MAX (1 << 20)

/*
 * Does a function that was made for a spec treat the frame, placed against forbidden pages, as the
 * function of <carry/packet.h> does? It may say CARRY_JIT_OTHER_SHAPE, touching nothing, only where
 * carry_jit_packet_shape() does not find the spec's shape either. Counts the others in `known`.
 */
bool jit_packet_agrees(const struct carry_jit_packet_spec *spec, carry_jit_packet_fn *function,
                       const struct carry_frame *frame, size_t capacity, size_t *known);

#endif
