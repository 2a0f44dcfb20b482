/* SPDX-License-Identifier: MIT */
/*
 * The check that functions made of templates have to pass: packets of several stacks of headers,
 * random fields of theirs, many writes one after the other into the same packet. After each of them
 * every checksum must be what it was, good or none, and no other byte differ.
 */
#ifndef CARRY_TESTS_CHECK_TEMPLATE_H
#define CARRY_TESTS_CHECK_TEMPLATE_H

#include <carry/jit.h>

#include "harness/effort.h"
#include "harness/verdict.h"

#define TEMPLATE_FRAME_MAX 512

/* A stack of headers, of which some bytes may vary. */
struct template_stack {
    const char *name;
    const char *bytes; /* in hexadecimal; in brackets those that may vary. Checksums of 0 that mean
                          "none" are none; others are put right */
    const char *verdicts;
    uint32_t linktype; /* 0 counts as Ethernet */
};

extern const struct template_stack template_stacks[];
extern const size_t template_stack_count;

/* One of them, as bytes. */
struct template_packet {
    uint8_t bytes[TEMPLATE_FRAME_MAX];
    bool varies[TEMPLATE_FRAME_MAX];
    uint32_t size;
    uint32_t linktype;
};

/* Makes it, with right checksums. */
void template_packet(struct template_packet *packet, const struct template_stack *stack);

/* Its bytes elsewhere, or with NULL its own. */
struct carry_frame template_frame(const struct template_packet *packet, const void *data);

/* Puts checksums right from the innermost outwards, but for those that are none. */
void template_seal(const struct carry_frame *frame);

/* carry_jit_template() and carry_jit_release(), or what stands for them. */
struct template_maker {
    int (*make)(const struct carry_jit_template_spec *spec, const struct carry_jit **jit);
    void (*release)(const struct carry_jit *jit);
    void (*finish)(void *packet); /* NULL, or called behind each write: on the stack of call.h there
                                     is no room for what twins do */
};

struct verdict check_template(const struct template_maker *maker,
                              const struct template_stack *stack, const struct effort *effort);

#endif
