/* SPDX-License-Identifier: MIT */
/* Prepares thunks: stores in variables what their assembly must know about this CPU. */
#include "base/general_begin.h"

#include "xstate/x86_64/thunk.h"

#include "cpu/cpu_internal.h"
#include "xstate/thunk_layout.h"
#include "xstate/xstate_internal.h"

uint32_t carry_thunk_machine;
uint64_t carry_thunk_any_mask;
uint64_t carry_thunk_any_size;

/* Returns the size of an area that holds either form. */
static uint64_t area_size(uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    size_t standard = carry_xstate_size(&layout, mask, CARRY_XSTATE_STANDARD);
    size_t compact = carry_xstate_size(&layout, mask, CARRY_XSTATE_COMPACT);
    return standard > compact ? standard : compact;
}

int carry_thunk_prepare(void) {
    static const struct {
        uint32_t feature;
        uint32_t machine;
    } rows[] = {
        {CARRY_CPU_BIT(avx), MACHINE_AVX},
        {CARRY_CPU_BIT(avx512f), MACHINE_AVX512},
        {CARRY_CPU_BIT(fast_xgetbv1), MACHINE_XGETBV1},
        {CARRY_CPU_BIT(xsave), MACHINE_XSAVE},
        {CARRY_CPU_BIT(xsavec), MACHINE_XSAVEC},
    };
    uint32_t machine = MACHINE_KNOWN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (carry_cpu_bits() & rows[i].feature)
            machine |= rows[i].machine;
    /* The machine's components, including components of masked features: a running thunk reads one
       variable at a time. */
    uint64_t mask = carry_xstate_user() & ~(CARRY_XSTATE_BIT(PKRU) | CARRY_XSTATE_BIT(TILEDATA));
    __atomic_store_n(&carry_thunk_any_size, area_size(mask), __ATOMIC_RELAXED);
    __atomic_store_n(&carry_thunk_any_mask, mask, __ATOMIC_RELAXED);
    __atomic_store_n(&carry_thunk_machine, machine, __ATOMIC_RELEASE);
    return CARRY_OK;
}

#include "base/general_end.h"
