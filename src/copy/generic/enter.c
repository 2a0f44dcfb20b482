/* SPDX-License-Identifier: MIT */
/* Architectures that do not recover from faults: no frame is entered, and none is resumed. */
#include "copy/copy_fault.h"

int carry_fault_enter(struct carry_fault_frame *frame) {
    (void)frame;
    return CARRY_ERROR_UNSUPPORTED;
}

void carry_fault_resume(void) {
}
