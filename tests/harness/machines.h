/* SPDX-License-Identifier: MIT */
/* Machines with and without XSAVE, as CPUID, their kernels or a manual describe them. */
#ifndef CARRY_TESTS_MACHINES_H
#define CARRY_TESTS_MACHINES_H

#include <carry/xstate.h>

struct machine {
    const char *name;
    struct carry_xstate_layout layout;
    uint32_t compact_size; /* of an image with all components of `layout.user`; 0 if the machine has
                              no compact form */
};

#define MACHINES 11

/* Returns machine `index`; NULL after the last. */
const struct machine *machine_at(size_t index);

/* The answer of CPUID for leaf 0DH: EAX, EBX, ECX, EDX. */
struct machine_cpuid {
    uint32_t reg[4];
};
struct machine_cpuid machine_xsave_leaf(const struct carry_xstate_layout *layout, uint32_t subleaf);

#endif
