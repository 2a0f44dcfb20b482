/* SPDX-License-Identifier: MIT */
/* CPU models, and the facts of facts.def about them. */
#ifndef CARRY_CPU_X86_64_MODEL_H
#define CARRY_CPU_X86_64_MODEL_H

#include "cpu/cpu_internal.h"

enum carry_cpu_maker { CARRY_CPU_ANY_MAKER, CARRY_CPU_INTEL, CARRY_CPU_AMD };

/*
 * A model as leaves 0 and 1 of CPUID report it, including extended family and model (Intel SDM vol.
 * 2A, CPUID).
 */
struct carry_cpu_model {
    enum carry_cpu_maker maker;
    unsigned family;
    unsigned model;
};

/* Returns what carry_cpu_fact() returns on a CPU of this model. */
const struct carry_cpu_fact *carry_cpu_fact_of(size_t preference,
                                               const struct carry_cpu_model *model);

#endif
