/* SPDX-License-Identifier: MIT */
/*
 * All registers of an x86-64 CPU as data: loaded before a call, stored in the called function and
 * after it. Relies only on XSAVE, XRSTOR (or FXSAVE) and CPUID, not on the code under test.
 *
 *     registers_dirty(&registers_in, BIT(SSE) | BIT(AVX), false);
 *     registers_call(function, 0);                         // registers_out: after the call
 *     registers_compare(&registers_in, &registers_out, -1, &verdict);
 *
 * Only for one thread at a time: the registers are kept in memory that code finds without any
 * register.
 */
#ifndef CARRY_TESTS_REGISTERS_H
#define CARRY_TESTS_REGISTERS_H

/* Offsets in struct registers, for assembly. */
#define REGISTERS_GPR   0
#define REGISTERS_FLAGS 128
#define REGISTERS_WORDS 136
#define REGISTERS_AREA  320
#define REGISTERS_BYTES 12608
#define STACK_WORDS     16
#define RED_ZONE        128

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/xstate.h>

#include "harness/verdict.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* The registers that no function may change, and the registers of arguments. */
#define KEPT_BY_CALLS (1 << RBX | 1 << RSP | 1 << RBP | 1 << R12 | 1 << R13 | 1 << R14 | 1 << R15)
#define ARGUMENTS                                                                                  \
    (1 << RDI | 1 << RSI | 1 << RDX | 1 << RCX | 1 << R8 | 1 << R9 | 1 << RAX | 1 << R10)

#define BIT(name) CARRY_XSTATE_BIT(name)

/*
 * Lists components that other software may put in use at any time, with initial values: the system
 * at each switch of threads, hypervisors at each exit. PKRU was seen on Cascade Lake, SSE on Zen 3
 * and Zen 5, and AVX on Zen 5 where ZMM_Hi256 is in use: AVX and ZMM_Hi256 are parts of the same
 * registers.
 */
#define BY_OTHERS(in_use)                                                                          \
    (BIT(PKRU) | BIT(SSE) | ((in_use)&BIT(ZMM_HI256) ? BIT(AVX) : UINT64_C(0)))

struct registers {
    uint64_t gpr[16];
    uint64_t flags;
    uint64_t words[STACK_WORDS]; /* on the stack, from the stack pointer on */
    uint64_t unused[7];
    uint8_t
        area[REGISTERS_BYTES - REGISTERS_AREA]; /* in the standard form, unless FXSAVE wrote it */
} __attribute__((aligned(64)));

extern struct registers registers_in;   /* before a call; registers_call() sets rsp */
extern struct registers registers_out;  /* after the call */
extern struct registers registers_seen; /* at the start of registers_target() */
extern struct registers
    registers_given; /* loaded by registers_target(): rax, rdx, and the whole area */
extern struct registers registers_garbage; /* left by registers_spoil() */

/* Detects the components of this CPU, and requests permission to use tiles. */
void registers_prepare(void);

/* Returns the components that can be loaded and stored: all that XCR0 enables. */
uint64_t registers_components(void);

/* Returns whether the CPU tracks which components are in use. Emulators do not. */
bool registers_tell_use(void);

/*
 * Fills `registers` at random, with the components of `in_use` in use. If `empty`, the x87
 * registers are empty.
 */
void registers_dirty(struct registers *registers, uint64_t in_use, bool empty);

/*
 * Calls `function` on a stack of its own, with the stack pointer `skip` bytes below the words of
 * registers_in.
 */
void registers_call(const void *function, size_t skip);

/* Returns the components that are in use in `registers`. */
uint64_t registers_in_use(const struct registers *registers);

/* Returns the bytes of a component in an area of the standard form, and their number in `size`. */
uint8_t *registers_part(const uint8_t *area, unsigned component, size_t *size);

/*
 * Like registers_part(), for an area in any form that the library wrote; NULL if the area does not
 * contain the component.
 */
const uint8_t *registers_saved_part(const uint8_t *area, unsigned component);

/*
 * Returns whether the components of `mask` are equal. A component not in use equals one with
 * initial values. Names the first byte that differs.
 */
bool registers_compare(const struct registers *a, const struct registers *b, uint64_t mask,
                       struct verdict *verdict);

/* Returns whether the general registers of `set` are equal. */
bool registers_compare_gpr(const struct registers *a, const struct registers *b, unsigned set,
                           struct verdict *verdict);

/*
 * Returns whether the bytes below the words are unchanged, for a call with `skip` of at least 128.
 */
bool registers_red_zone_kept(void);

/* In assembly: */
void registers_run(void);
void registers_target(void);
void registers_spoil(void);
void registers_observe(struct registers *to); /* stores the area only */

#endif
#endif
