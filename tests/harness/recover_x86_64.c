/* SPDX-License-Identifier: MIT */
#include "harness/recover.h"

#include <ucontext.h>

const uintptr_t recover_tag = 0;

uintptr_t *recover_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

uintptr_t *recover_value(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX];
}

/* Returns false: on x86-64 a store that faults has written nothing after the page that faulted. */
bool recover_stores_in_part(void *context, uintptr_t page) {
    (void)context, (void)page;
    return false;
}
