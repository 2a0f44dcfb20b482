/* SPDX-License-Identifier: MIT */
/* The CPU features that Linux reports to a process. */
#include "base/host.h"

#include <sys/auxv.h>

uint64_t carry_host_hwcap(enum carry_host_hwcap word) {
    return getauxval(word == CARRY_HOST_HWCAP2 ? AT_HWCAP2 : AT_HWCAP);
}
