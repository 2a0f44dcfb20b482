/* SPDX-License-Identifier: MIT */
/* The parts of the module that depend on Linux for x86-64. */
#ifndef CARRY_LINUX_MACHINE_H
#define CARRY_LINUX_MACHINE_H

#include <linux/preempt.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/irqflags.h>
#include <asm/msr.h>
#include <asm/page.h>
#include <asm/processor-flags.h>
#include <asm/processor.h>
#include <asm/smap.h>
#include <asm/vsyscall.h>

/* --- Features: names of the library, and numbers of Linux --- */

#define MACHINE_FEATURES                                                                           \
    {                                                                                              \
        {"xsave", X86_FEATURE_OSXSAVE}, {"avx", X86_FEATURE_AVX}, {"avx2", X86_FEATURE_AVX2},      \
            {"avxvnni", X86_FEATURE_AVX_VNNI}, {"avx512f", X86_FEATURE_AVX512F},                   \
            {"avx512bw", X86_FEATURE_AVX512BW}, {"avx512vl", X86_FEATURE_AVX512VL},                \
            {"avx512vnni", X86_FEATURE_AVX512_VNNI}, {"bmi2", X86_FEATURE_BMI2},                   \
            {"sse42", X86_FEATURE_XMM4_2}, {"pclmulqdq", X86_FEATURE_PCLMULQDQ},                   \
            {"erms", X86_FEATURE_ERMS},                                                            \
    }

static inline bool machine_has(unsigned int feature) {
    return boot_cpu_has(feature);
}

static inline bool machine_is_virtual(void) {
    return boot_cpu_has(X86_FEATURE_HYPERVISOR);
}

static inline u64 machine_cycles(void) {
    return rdtsc_ordered();
}

/* --- The best kernel of sums without vectors --- */

#define MACHINE_SCALAR            "adc"
#define carry_sum_scalar          carry_sum_adc
#define carry_sum_copy_scalar     carry_sum_copy_adc
#define carry_sum_copy_try_scalar carry_sum_copy_try_adc

/* --- Sections --- */

static inline void machine_begin(void) {
    kernel_fpu_begin();
}

static inline void machine_end(void) {
    kernel_fpu_end();
}

static inline bool machine_is_usable(void) {
    return irq_fpu_usable();
}

/* Returns whether this interrupt interrupted a section. */
static inline bool machine_is_in_section(void) {
    return !irq_fpu_usable() && !softirq_count();
}

#define MACHINE_VECTOR_BYTES (16 * 16)

#define MACHINE_EACH(X)                                                                            \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define MACHINE_LOAD(n)  "movups 16*" #n "(%0), %%xmm" #n "\n"
#define MACHINE_STORE(n) "movups %%xmm" #n ", 16*" #n "(%0)\n"

/* Load and store xmm0 to xmm15. For tests; must be called inside a section. */
static inline void machine_load_vectors(const void *from) {
    asm volatile(MACHINE_EACH(MACHINE_LOAD) : : "r"(from) : "memory");
}

static inline void machine_store_vectors(void *to) {
    asm volatile(MACHINE_EACH(MACHINE_STORE) : : "r"(to) : "memory");
}

/* --- Memory of processes, and of the kernel --- */

/*
 * Lets the kernel access user memory (SMAP) until machine_leave_user(). Objtool refuses calls
 * between the two, so it must not see these instructions; the called function is a leaf in
 * assembly.
 */
static __always_inline void machine_reach_user(bool user) {
    if (user)
        asm volatile(ANNOTATE_IGNORE_ALTERNATIVE ALTERNATIVE("", __ASM_STAC, X86_FEATURE_SMAP)::
                         : "memory");
}

static __always_inline void machine_leave_user(bool user) {
    if (user)
        asm volatile(ANNOTATE_IGNORE_ALTERNATIVE ALTERNATIVE("", __ASM_CLAC, X86_FEATURE_SMAP)::
                         : "memory");
}

static inline bool machine_reaches_user(void) {
    return native_save_fl() & X86_EFLAGS_AC;
}

static inline void machine_stop_guesses(void) {
    barrier_nospec();
}

/*
 * Returns whether all addresses are the kernel's: with SMAP, a fault at a process's address is not
 * survived. Returns false for the vsyscall page, too. Linux's copy_from_kernel_nofault_allowed()
 * checks the same, but is not exported.
 */
static inline bool machine_is_of_kernel(const void *data, size_t size) {
    unsigned long start = (unsigned long)data;

    return start >= TASK_SIZE_MAX + PAGE_SIZE &&
           __is_canonical_address(start, boot_cpu_data.x86_virt_bits) && size <= -start &&
           (start >= VSYSCALL_ADDR + PAGE_SIZE ||
            (start <= VSYSCALL_ADDR && size <= VSYSCALL_ADDR - start));
}

/*
 * Ranges that machine_is_of_kernel() must refuse on this architecture; the last one ends at the end
 * of the address space. Tests define others for all architectures.
 */
#define MACHINE_REFUSES                                                                            \
    {                                                                                              \
        {VSYSCALL_ADDR, 8}, {VSYSCALL_ADDR - 4, 8}, {                                              \
            VSYSCALL_ADDR, -VSYSCALL_ADDR                                                          \
        }                                                                                          \
    }

#endif
