/* SPDX-License-Identifier: MIT */
/* The host of the core in a process with a C library: base/host.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/host.h"

#include <stdlib.h>

const char *carry_host_cpu_mask(void) {
    /* Ignored in privileged programs: their callers must not choose their code paths. */
    return secure_getenv("CARRY_CPU_MASK");
}
