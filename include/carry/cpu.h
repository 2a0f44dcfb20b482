/* SPDX-License-Identifier: MIT */
/*
 * CPU features: which this CPU has, which the operating system enables, which are better avoided.
 *
 * A feature is present if
 *  - CPUID (Intel SDM vol. 2, AMD APM vol. 3) reports it; on AArch64, if the operating system does,
 *  - the operating system has enabled its registers in XCR0 (x86-64), and
 *  - every feature that it builds on is present.
 *
 * Capabilities and preferences are separate. `prefer512` is a preference: it holds where 512-bit
 * vectors do not lower the clock frequency. Sums that use 512-bit vectors ask for the capability
 * and the preference; copies ask for `prefer512_copies`, as loads and stores cost less. A table of
 * CPUs decides preferences, each by a measurement: see `evidence`.
 *
 * A mask removes ("peels") features, to test older code paths or to work around a machine:
 *
 *     carry_cpu_set_mask("avx2");               // no AVX2, so no AVX-512 either
 *     carry_cpu_set_mask("prefer512");          // 512-bit sums allowed, but not chosen
 *     carry_cpu_set_mask("all");                // scalar code only
 *     carry_cpu_set_mask("+prefer512");         // preferred even where the table says no
 *     carry_cpu_set_mask(NULL);                 // restore everything; "" does the same
 *
 * In hosted builds, the library applies the environment variable CARRY_CPU_MASK before the first
 * use.
 *
 * Context: every function may be called from any thread; detection is lazy, idempotent and uses no
 * lock. Returned strings are static.
 */
#ifndef CARRY_CPU_H
#define CARRY_CPU_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

enum carry_cpu_state {
    CARRY_CPU_ABSENT,  /* the CPU lacks the feature, or the operating system has not enabled it */
    CARRY_CPU_MASKED,  /* present, but removed by the mask */
    CARRY_CPU_PRESENT, /* present and in use */
};

struct carry_cpu_feature {
    const char *name;           /* as masks spell it: "avx2" */
    const char *description;    /* one line for users */
    enum carry_cpu_state state; /* at the time of the call */
    bool is_preference;         /* not a capability: `+name` in a mask can switch it on */
    const char *evidence;       /* of a preference: what decided it here; NULL if nothing did */
};

/* Returns whether the named feature is present and not masked; false for unknown names. */
CARRY_API bool carry_cpu_has(const char *name);

/* Describes feature `index` of this architecture's table; returns false beyond the last. */
CARRY_API bool carry_cpu_feature(size_t index, struct carry_cpu_feature *feature);

/*
 * Replaces the mask. `mask` is a list of names separated by commas: a name removes that feature and
 * all that build on it, `all` removes everything, and `+name` switches a preference on.
 * Code that has chosen by the old features keeps its choice until asked to choose again: see
 * carry_sum_select().
 *
 * Returns 0, CARRY_ERROR_UNKNOWN for a name that the table lacks, or CARRY_ERROR_INVALID for `+`
 * before a capability. After an error the old mask stays in effect.
 */
CARRY_API int carry_cpu_set_mask(const char *mask);

/* Returns the result of carry_cpu_set_mask() for the host's mask (CARRY_CPU_MASK) at first use. */
CARRY_API int carry_cpu_host_mask_error(void);

/* Returns the architecture that this library was built for: "x86_64", "aarch64" or "generic". */
CARRY_API const char *carry_cpu_arch(void);

/*
 * Writes the CPU's own name ("AMD EPYC ..."), or "" if it has none. The text is always terminated,
 * unless `size` is 0. CPUs of AArch64 report numbers; the library knows the names of some: "Arm
 * Neoverse N1".
 */
CARRY_API void carry_cpu_model(char *name, size_t size);

CARRY_END_DECLS

#endif
