/* SPDX-License-Identifier: MIT */
/* Sets up the entries of exceptions and interrupts, and reads their causes from CPU and GIC. */
#include "base/fault_host.h"
#include "gic.h"
#include "kernel.h"

#include <stddef.h>

_Static_assert(offsetof(struct trap_frame, pc) == FRAME_PC &&
                   offsetof(struct trap_frame, pstate) == FRAME_PSTATE &&
                   offsetof(struct trap_frame, vector) == FRAME_VECTOR &&
                   offsetof(struct trap_frame, error) == FRAME_ERROR &&
                   offsetof(struct trap_frame, address) == FRAME_ADDRESS &&
                   sizeof(struct trap_frame) == FRAME_BYTES,
               "as assembly knows them");

#define CLASS_SHIFT 26
#define CLASS_MASK  0x3f

extern const uint8_t trap_vectors[];

void trap_load(unsigned cpu) {
    (void)cpu;
    CPU_WRITE("vbar_el1", trap_vectors);
    cpu_serialise();
}

static enum trap_vector vector_of(uint32_t interrupt) {
    switch (interrupt) {
    case GIC_CALL:
        return TRAP_CALL;
    case GIC_NMI:
        return TRAP_NMI;
    case GIC_TIMER:
        cpu_timer(0); /* else it would interrupt again at once */
        return TRAP_TIMER;
    default:
        return TRAP_SPURIOUS;
    }
}

void trap_enter(struct trap_frame *frame);
void trap_enter(struct trap_frame *frame) {
    const uint64_t entry = frame->vector;
    if (entry == TRAP_ENTRY_IRQ || entry == TRAP_ENTRY_FIQ) {
        frame->error = gic_acknowledge();
        frame->vector = vector_of(frame->error & GIC_NUMBER);
    } else if (entry == TRAP_ENTRY_SYNCHRONOUS) {
        frame->vector = frame->error >> CLASS_SHIFT & CLASS_MASK;
    } else {
        PANIC("vector %lx (error %lx) at %lx", entry, frame->error, frame->pc);
    }
    trap(frame);
    if (frame->vector == TRAP_NMI)
        cpu_acknowledge(frame);
}

bool trap_is_fault(const struct trap_frame *frame) {
    return frame->vector == TRAP_PAGE;
}

uintptr_t trap_address(const struct trap_frame *frame) {
    return frame->vector == TRAP_PAGE || frame->vector == TRAP_TEXT ? frame->address
                                                                    : CARRY_NO_ADDRESS;
}

void trap_forbid_user(struct trap_frame *frame) {
    if (page_protects_user())
        frame->pstate |= PSTATE_PAN;
}
