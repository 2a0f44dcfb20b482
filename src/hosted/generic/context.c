/* SPDX-License-Identifier: MIT */
/* Where there are no sites and no exception table, nothing traps, and nothing is recovered. */
#include "hosted/context.h"

#include <carry/fault.h>

uintptr_t *carry_ucontext_pc(void *context) {
    (void)context;
    return NULL;
}

void carry_ucontext_serialise(void) {
}

void carry_ucontext_pause(void) {
}

bool carry_ucontext_can_recover(void) {
    return false;
}

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t page) {
    (void)context;
    (void)recovery;
    (void)page;
}

void carry_ucontext_resume(void *context, const uintptr_t *registers) {
    (void)context;
    (void)registers;
}

int carry_fault_enter(struct carry_fault_frame *frame) {
    (void)frame;
    return CARRY_ERROR_UNSUPPORTED;
}
