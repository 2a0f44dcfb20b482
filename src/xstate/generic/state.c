/* SPDX-License-Identifier: MIT */
/* Architectures without XSAVE: nothing is enabled, so there is nothing to do. */
#include "xstate/xstate_internal.h"

uint64_t carry_xstate_enabled(void) {
    return 0;
}

uint64_t carry_xstate_default(void) {
    return 0;
}

uint64_t carry_xstate_in_use(void) {
    return 0;
}

size_t carry_xstate_area_size(uint64_t mask) {
    (void)mask;
    return (CARRY_XSTATE_EXTENDED + CARRY_XSTATE_ALIGN - 1) / CARRY_XSTATE_ALIGN *
           CARRY_XSTATE_ALIGN;
}

uint64_t carry_xstate_save(void *area, uint64_t mask) {
    (void)mask;
    __builtin_memset(area, 0, CARRY_XSTATE_EXTENDED);
    return 0;
}

void carry_xstate_load(const void *area, uint64_t mask) {
    (void)area;
    (void)mask;
}

void carry_xstate_clean(enum carry_xstate_level level) {
    (void)level;
}
