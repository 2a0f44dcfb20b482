/* SPDX-License-Identifier: MIT */
/* Detects the layout with CPUID leaf 0DH (Intel SDM vol. 1, 13.2; vol. 2A, CPUID). */
#include "base/general_begin.h"

#include "base/cpuid.h"
#include "xstate/xstate_internal.h"

#define LEAF 0xd

enum { EAX, EBX, ECX, EDX };

static bool bit_is_set(uint32_t word, unsigned index) {
    return word >> index & 1;
}

static uint32_t mxcsr_mask(void) {
    uint8_t area[CARRY_XSTATE_LEGACY] __attribute__((aligned(16))) = {0};
    uint32_t mask;
    __asm__ volatile("fxsave64 %0" : "+m"(area));
    __builtin_memcpy(&mask, area + CARRY_AREA_MXCSR_MASK, sizeof mask);
    return mask ? mask : CARRY_MXCSR_MASK_OLDEST;
}

/* Detects a component with a name (LWP of old AMD CPUs, 62, has none). Returns whether it exists.
 */
static bool detect_part(struct carry_xstate_part *part, unsigned component) {
    struct carry_cpuid found = carry_cpuid(LEAF, component);
    part->size = found.reg[EAX];
    part->offset = found.reg[EBX];
    part->supervisor = bit_is_set(found.reg[ECX], 0);
    part->aligned = bit_is_set(found.reg[ECX], 1);
    part->lazy = bit_is_set(found.reg[ECX], 2);
    return part->size;
}

/* Detects the components of `mask`. Returns those that have a size. */
static uint64_t detect_parts(struct carry_xstate_layout *layout, uint64_t mask) {
    uint64_t found = 0;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1 && detect_part(&layout->parts[i], i))
            found |= UINT64_C(1) << i;
    return found;
}

/*
 * Detects the layout. If firmware hides the leaves above 3, the layout contains only the
 * components of FXSAVE.
 */
void carry_xstate_detect(struct carry_xstate_layout *layout) {
    uint64_t xcr0 = carry_xcr0();
    layout->mxcsr_mask = mxcsr_mask();
    layout->user = xcr0 & CARRY_LEGACY_STATE;
    layout->standard_size = xcr0 ? CARRY_XSTATE_EXTENDED : 0;
    if (!xcr0 || !carry_cpuid_has_leaf(LEAF))
        return;
    struct carry_cpuid options = carry_cpuid(LEAF, 1);
    layout->user |= detect_parts(layout, xcr0);
    layout->supervisor = detect_parts(layout, options.reg[ECX] | (uint64_t)options.reg[EDX] << 32);
    layout->standard_size = carry_cpuid(LEAF, 0).reg[EBX];
    layout->xsaveopt = bit_is_set(options.reg[EAX], 0);
    layout->xsavec = bit_is_set(options.reg[EAX], 1);
    layout->xgetbv1 = bit_is_set(options.reg[EAX], 2);
    layout->xsaves = bit_is_set(options.reg[EAX], 3);
    layout->xfd = bit_is_set(options.reg[EAX], 4);
}

#include "base/general_end.h"
