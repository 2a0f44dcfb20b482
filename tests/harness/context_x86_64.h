/* SPDX-License-Identifier: MIT */
/* The offsets in struct context_probe, for assembly and C. */
#ifndef CARRY_TESTS_CONTEXT_X86_64_H
#define CARRY_TESTS_CONTEXT_X86_64_H

#define PROBE_FUNCTION   0
#define PROBE_ARGUMENTS  8 /* rdi, rsi, rdx */
#define PROBE_RESULT     32
#define PROBE_COMPONENTS 40 /* 0: no XSAVE */
#define PROBE_BEFORE     64
#define PROBE_AFTER      4672
#define PROBE_BYTES      9280

/* Offsets in each of the two states. */
#define STATE_REGISTERS 0 /* rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15 */
#define STATE_FLAGS     120
#define STATE_RED_ZONE  128
#define STATE_IMAGE     256 /* as XSAVE or FXSAVE stores it */
#define STATE_BYTES     4608

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct context_state {
    uint64_t registers[15];
    uint64_t flags;
    uint64_t red_zone[16];
    unsigned char image[STATE_BYTES - STATE_IMAGE];
};

struct context_probe {
    void *function;
    uint64_t arguments[3];
    uint64_t result;
    uint64_t components;
    uint64_t unused[2];
    struct context_state before;
    struct context_state after;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct context_probe) == PROBE_BYTES &&
                   offsetof(struct context_probe, before) == PROBE_BEFORE &&
                   offsetof(struct context_probe, after) == PROBE_AFTER &&
                   offsetof(struct context_state, image) == STATE_IMAGE,
               "as assembly knows it");

/*
 * Calls function(arguments) with the registers of `before`. Stores its result in `result`, and in
 * `after` the registers that calls preserve, the flags, and all extended state.
 */
void context_probe_call(struct context_probe *probe);

/* Holds all of `before`, except rcx, in the registers and the red zone for a while, then stores
 * both in `after`. */
void context_probe_spin(struct context_probe *probe);

#endif

#endif
