/* SPDX-License-Identifier: MIT */
/* Prepares thunks: stores in a variable what their assembly must know about this CPU. */
#include <carry/thunk.h>

#if CARRY_HAS_THUNKS
#include "base/host.h"
#include "xstate/aarch64/thunk.h"

#include "xstate/thunk_layout.h"

uint32_t carry_thunk_machine;

/*
 * Returns the machine's features, including masked ones: a mask changes no register and no landing
 * pad.
 */
uint32_t carry_thunk_detect(void) {
    static const struct {
        enum carry_host_hwcap word;
        uint8_t bit; /* arm64, uapi/asm/hwcap.h */
        uint8_t machine;
    } rows[] = {
        {CARRY_HOST_HWCAP, 22, MACHINE_SVE},
        {CARRY_HOST_HWCAP2, 23, MACHINE_SME},
        {CARRY_HOST_HWCAP2, 17, MACHINE_BTI},
    };
    uint32_t machine = 1 << MACHINE_KNOWN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        machine |= (uint32_t)(carry_host_hwcap(rows[i].word) >> rows[i].bit & 1) << rows[i].machine;
    return machine;
}

int carry_thunk_prepare(void) {
    __atomic_store_n(&carry_thunk_machine, carry_thunk_detect(), __ATOMIC_RELEASE);
    return CARRY_OK;
}

#else /* big-endian */
#include "xstate/generic/thunk.c"
#endif
