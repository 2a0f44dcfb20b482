/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time for the shapes of packets that captures are full of, in place of the
 * walk: `carry check --jit`. Shapes are learned from samples. Any thread may check packets.
 */
#ifndef CARRY_TOOLS_CHECK_JIT_H
#define CARRY_TOOLS_CHECK_JIT_H

#include <carry/packet.h>

struct check_jit;

/*
 * Makes the function of a shape after about so many packets of it, 1 or more. Returns an exit
 * status, with a message unless it is STATUS_CLEAN; *jit is then as it was.
 */
int check_jit_open(uint64_t after, struct check_jit **jit);
void check_jit_close(struct check_jit *jit); /* takes NULL too */

/* Looks at one in so many packets. */
uint32_t check_jit_step(const struct check_jit *jit);

/* Learns from a frame that stands for so many packets. Is there a function for it, now or before?
 */
bool check_jit_learn(struct check_jit *jit, const struct carry_frame *frame, uint32_t packets);

/*
 * As carry_packet_check() without options, with room for CARRY_PACKET_SUMS_MAX. Returns how many
 * sums it lists, and then the frame is no fragment; or -1 if this thread has no function for it.
 */
int check_jit_packet(const struct carry_frame *frame, struct carry_packet_sum *sums);

#endif
