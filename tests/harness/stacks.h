/* SPDX-License-Identifier: MIT */
/* Frames with stacks of headers for which packet functions can be made at run time. */
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

/* A frame under construction. */
struct stacked {
    uint8_t bytes[STACK_BYTES_MAX];
    uint32_t headers;                       /* size of all headers */
    uint32_t size;                          /* size of the frame */
    uint32_t offsets[CARRY_JIT_LAYERS_MAX]; /* offset of each header */
};

/*
 * Builds the headers of a stack around `payload` bytes, with good sums and exact lengths: each
 * layer ends with the frame.
 */
void stack_build(struct stacked *frame, const struct carry_jit_packet_spec *spec, uint32_t payload);

/* Reduces every length field from layer `from` on by `less` bytes. */
void stack_shorten(struct stacked *frame, const struct carry_jit_packet_spec *spec, uint32_t from,
                   uint32_t less);

/* Makes every sum good, including absent ones. */
void stack_seal(struct stacked *frame, const struct carry_jit_packet_spec *spec);

#endif
