/* SPDX-License-Identifier: MIT */
/* Extensions of this CPU that the system has enabled: what Linux says to each program. */
#include "base/host.h"

#include <sys/auxv.h>

/* arch/arm64/include/uapi/asm/hwcap.h; the C library's header may be older than the system. */
#define HWCAP_SVE_BIT  22
#define HWCAP2_BTI_BIT 17
#define HWCAP2_SME_BIT 23

uint32_t carry_host_extensions(void) {
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    return (first >> HWCAP_SVE_BIT & 1 ? CARRY_HOST_SVE : 0) |
           (second >> HWCAP2_SME_BIT & 1 ? CARRY_HOST_SME : 0) |
           (second >> HWCAP2_BTI_BIT & 1 ? CARRY_HOST_BTI : 0);
}
