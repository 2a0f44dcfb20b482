/* SPDX-License-Identifier: MIT */
/* The parts of the module that depend on Linux for AArch64. */
#ifndef CARRY_LINUX_MACHINE_H
#define CARRY_LINUX_MACHINE_H

#include <linux/preempt.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/hwcap.h>
#include <asm/memory.h>
#include <asm/neon.h>
#include <asm/simd.h>
#include <asm/sysreg.h>

#include "pairs.h"

/* --- Features: names of the library, and numbers of Linux --- */

#define MACHINE_FEATURES                                                                           \
    {                                                                                              \
        { "neon", KERNEL_HWCAP_ASIMD }                                                             \
    }

static inline bool machine_has(unsigned int feature) {
    return cpu_have_feature(feature);
}

/* Returns false: Linux does not report on AArch64 whether the machine is virtual. */
static inline bool machine_is_virtual(void) {
    return false;
}

/* Returns ticks of the timer, not cycles of the CPU. */
static inline u64 machine_cycles(void) {
    isb();
    return read_sysreg(cntvct_el0);
}

/* --- The best kernel of sums without vectors --- */

#define MACHINE_SCALAR            "generic"
#define carry_sum_scalar          carry_sum_generic
#define carry_sum_copy_scalar     carry_sum_copy_generic
#define carry_sum_copy_try_scalar carry_sum_copy_try_generic

/* --- Sections --- */

static inline void machine_begin(void) {
    kernel_neon_begin();
}

static inline void machine_end(void) {
    kernel_neon_end();
}

/* Returns whether a section is possible: in threads and soft interrupts only. */
static inline bool machine_is_usable(void) {
    return may_use_simd();
}

/* Returns whether this interrupt interrupted a section. */
static inline bool machine_is_in_section(void) {
    return this_cpu_read(fpsimd_context_busy);
}

#define MACHINE_VECTOR_BYTES (32 * 16)

#define MACHINE_LOAD(a, b)  "ldp q" #a ", q" #b ", [%0, #16 * " #a "]\n"
#define MACHINE_STORE(a, b) "stp q" #a ", q" #b ", [%0, #16 * " #a "]\n"

/* Load and store all vector registers. For tests; must be called inside a section. */
static inline void machine_load_vectors(const void *from) {
    asm volatile(".arch_extension simd\n" EACH_PAIR(MACHINE_LOAD) : : "r"(from) : "memory");
}

static inline void machine_store_vectors(void *to) {
    asm volatile(".arch_extension simd\n" EACH_PAIR(MACHINE_STORE) : : "r"(to) : "memory");
}

/* --- Memory of processes, and of the kernel --- */

/* Lets the kernel access user memory (PAN) until machine_leave_user(). */
static __always_inline void machine_reach_user(bool user) {
    if (user)
        uaccess_enable_privileged();
}

static __always_inline void machine_leave_user(bool user) {
    if (user)
        uaccess_disable_privileged();
}

#define MACHINE_PAN sys_reg(3, 0, 4, 2, 3)

static inline bool machine_reaches_user(void) {
    return cpus_have_const_cap(ARM64_HAS_PAN) && !(read_sysreg_s(MACHINE_PAN) & PSR_PAN_BIT);
}

static inline void machine_stop_guesses(void) {
    csdb();
}

/* Returns whether all addresses are the kernel's: with PAN, a fault at a process's address is not
   survived. */
static inline bool machine_is_of_kernel(const void *data, size_t size) {
    unsigned long start = (unsigned long)data;

    return start >= PAGE_OFFSET && size <= -start;
}

/*
 * Ranges that machine_is_of_kernel() must refuse on this architecture; tests define others for all
 * architectures.
 */
#define MACHINE_REFUSES                                                                            \
    {                                                                                              \
        { PAGE_OFFSET - 8, 16 }                                                                    \
    }

#endif
