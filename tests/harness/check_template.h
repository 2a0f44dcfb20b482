/* SPDX-License-Identifier: MIT */
/*
 * The check that functions made from templates must pass. It makes a packet with a stack of
 * headers, chooses random fields, and writes many times in a row to the same packet. After each
 * write, every checksum must have its previous verdict, which is never bad, and no byte outside
 * the fields and the checksums may differ.
 */
#ifndef CARRY_TESTS_CHECK_TEMPLATE_H
#define CARRY_TESTS_CHECK_TEMPLATE_H

#include <carry/jit.h>

#include "harness/effort.h"
#include "harness/verdict.h"

#define TEMPLATE_FRAME_MAX 512

/* A stack of headers, some of whose bytes may vary. */
struct template_stack {
    const char *name;
    const char *bytes; /* in hexadecimal, variable bytes in brackets. Checksums of 0 that mean
                          "absent" remain; other checksums are corrected */
    const char *verdicts;
    uint32_t linktype; /* 0 means Ethernet */
};

extern const struct template_stack template_stacks[];
extern const size_t template_stack_count;

/* The bytes of a stack. */
struct template_packet {
    uint8_t bytes[TEMPLATE_FRAME_MAX];
    bool varies[TEMPLATE_FRAME_MAX];
    uint32_t size;
    uint32_t linktype;
};

/* Fills `packet` from `stack`, with right checksums. */
void template_packet(struct template_packet *packet, const struct template_stack *stack);

/* Returns a frame of `data`, or of the packet's own bytes if `data` is NULL. */
struct carry_frame template_frame(const struct template_packet *packet, const void *data);

/* Corrects the checksums from the innermost outwards, except absent and illegal ones. */
void template_seal(const struct carry_frame *frame);

/* carry_jit_template() and carry_jit_release(), or replacements. */
struct template_maker {
    int (*make)(const struct carry_jit_template_spec *spec, const struct carry_jit **jit);
    void (*release)(const struct carry_jit *jit);
    void (*finish)(void *packet); /* NULL, or called after each write, for mutants that need more
                                     stack than call.h provides */
};

struct verdict check_template(const struct template_maker *maker,
                              const struct template_stack *stack, const struct effort *effort);

#endif
