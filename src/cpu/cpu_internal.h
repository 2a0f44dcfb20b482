/* SPDX-License-Identifier: MIT */
/* CPU features as bits, for other modules. */
#ifndef CARRY_CPU_CPU_H
#define CARRY_CPU_CPU_H

#include <carry/cpu.h>
#include <carry/features.def>

#include "base/arch.h"

#define CARRY_CPU_INDEX(arch, name, ...) CARRY_ROWS_##arch(CARRY_CPU_INDEX_##name, )
enum { CARRY_CPU_FEATURES(CARRY_CPU_INDEX) CARRY_CPU_COUNT };

/* Expands to the bit of a feature in this architecture's table. */
#define CARRY_CPU_BIT(name) (UINT32_C(1) << CARRY_CPU_INDEX_##name)

enum carry_cpu_kind {
    CARRY_CPU_KIND_CPUID,
    CARRY_CPU_KIND_HWCAP,
    CARRY_CPU_KIND_BASE,
    CARRY_CPU_KIND_PREFERENCE,
};

/* A row of <carry/features.def>. */
struct carry_cpu_row {
    const char *name;
    const char *description;
    uint32_t builds_on;
    uint32_t state; /* XCR0 bits */
    uint8_t kind;   /* enum carry_cpu_kind; only CPUID and HWCAP use the members below */
    uint8_t leaf;   /* of CPUID, or enum carry_host_hwcap */
    uint8_t subleaf;
    uint8_t reg; /* 0 to 3: EAX, EBX, ECX, EDX */
    uint8_t bit;
};

/* Returns the features that are present and not masked. Detects them at the first call. */
uint32_t carry_cpu_bits(void);

/* Returns the name of the first feature in `bits`, or NULL if there is none. */
const char *carry_cpu_first_name(uint32_t bits);

/* Whether a preference holds on this CPU, and the evidence in one sentence. */
struct carry_cpu_fact {
    bool holds;
    unsigned char sources; /* hosts or days that show it */
    const char *evidence;
};

/* Returns whether CPU and operating system support a feature. Each architecture provides it. */
bool carry_cpu_detect(const struct carry_cpu_row *row);

/* Returns the fact that decides a preference, by its index, or NULL if the table has none. */
const struct carry_cpu_fact *carry_cpu_fact(size_t preference);

/* Writes the name of the CPU, "" if it is unknown, into `size` bytes. */
void carry_cpu_detect_model(char *name, size_t size);

#endif
