/* SPDX-License-Identifier: MIT */
/* The host interface, answered for a process with a C library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/host.h"

#include <stdlib.h>

const char *carry_host_cpu_mask(void) {
    /* Not in privileged programs: whoever calls them must not choose their code paths. */
    return secure_getenv("CARRY_CPU_MASK");
}
