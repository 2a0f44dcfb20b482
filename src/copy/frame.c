/* SPDX-License-Identifier: MIT */
/* Frames around code that may fault. They are entered and continued in src/copy/<arch>/enter. */
#include "copy/copy_fault.h"

int carry_fault_push(struct carry_fault_frame *frame) {
    struct carry_fault_frame **innermost = carry_host_fault_frames();
    if (!carry_host_recovers(CARRY_HOST_FRAMES))
        return CARRY_ERROR_PERMISSION;
    frame->outer = *innermost;
    *innermost = frame;
    return CARRY_OK;
}

void carry_fault_leave(struct carry_fault_frame *frame) {
    *carry_host_fault_frames() = frame->outer;
}

uintptr_t carry_fault_unwind(const void *address, int signal, uintptr_t *value) {
    struct carry_fault_frame **innermost = carry_host_fault_frames();
    struct carry_fault_frame *frame = *innermost;
    if (!frame)
        return 0;
    *innermost = frame->outer;
    frame->address = address;
    frame->signal = signal;
    *value = (uintptr_t)frame;
    return (uintptr_t)carry_fault_resume;
}
