/* SPDX-License-Identifier: MIT */
/* What is kept for each thread, in a file of its own: whoever patches need not have hooks. */
#include "base/hook_host.h"

#include <errno.h>

_Thread_local struct carry_host_hook_thread carry_host_hook_thread;

int *carry_host_errno(void) {
    return &errno;
}
