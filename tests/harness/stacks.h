/* SPDX-License-Identifier: MIT */
/* Frames of all stacks of headers for which packet functions can be made at run time. */
#ifndef CARRY_TESTS_STACKS_H
#define CARRY_TESTS_STACKS_H

#include <carry/jit.h>

#define STACK_HEADERS_MAX 512
#define STACK_BYTES_MAX   (STACK_HEADERS_MAX + 2048)

struct stack {
    const char *name;
    struct carry_jit_packet_spec spec;
};

extern const struct stack stacks[];
extern const size_t stacks_count;

/* A frame in the making. */
struct stacked {
    uint8_t bytes[STACK_BYTES_MAX];
    uint32_t headers;                       /* bytes of all of them */
    uint32_t size;                          /* of the frame */
    uint32_t offsets[CARRY_JIT_LAYERS_MAX]; /* of each header */
};

/*
 * The headers of a stack around `payload` bytes, all sums good, the lengths exact: each layer ends
 * with the frame.
 */
void stack_build(struct stacked *frame, const struct carry_jit_packet_spec *spec, uint32_t payload);

/* Says in every length field from layer `from` on that the frame is `less` bytes shorter. */
void stack_shorten(struct stacked *frame, const struct carry_jit_packet_spec *spec, uint32_t from,
                   uint32_t less);

/* Makes every sum good, and those good that are absent. */
void stack_seal(struct stacked *frame, const struct carry_jit_packet_spec *spec);

#endif
