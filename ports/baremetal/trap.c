/* SPDX-License-Identifier: MIT */
/* Handles exceptions and interrupts of both CPUs, and recovers from faults of copies. */
#include "base/fault_host.h"
#include "kernel.h"

static trap_handler *handlers[TRAP_VECTORS];

uint64_t trap_fixed;

/*
 * Rows of base/fault_asm.h: the relative addresses of an instruction and its recovery, and the
 * value `done`.
 */
extern int32_t __start_carry_faults[][3], __stop_carry_faults[][3];
static bool reached[2048];

static size_t row_count(void) {
    size_t count = (size_t)(__stop_carry_faults - __start_carry_faults);
    if (count > sizeof reached)
        PANIC("%zu rows of faults, room for %zu", count, sizeof reached);
    return count;
}

void trap_break_row(size_t index) {
    if (index >= row_count())
        return;
    int32_t *place = &__start_carry_faults[index][0];
    const int32_t broken = *place + 1;
    text_write((uintptr_t)place, &broken, sizeof broken);
}

void trap_note_rows(void) {
    print("# %zu rows, reached:", row_count());
    for (size_t i = 0; i < row_count(); i++)
        if (reached[i])
            print(" %zu", i);
    print("\n");
}

static void note_row(uintptr_t instruction) {
    for (size_t i = 0; i < row_count(); i++)
        if ((uintptr_t)&__start_carry_faults[i][0] + (intptr_t)__start_carry_faults[i][0] ==
            instruction)
            reached[i] = true;
}

trap_handler *trap_set(enum trap_vector vector, trap_handler *handler) {
    return __atomic_exchange_n(&handlers[vector], handler, __ATOMIC_SEQ_CST);
}

/* Recovers from a fault in a copy of the core, as a kernel's page-fault handler does. */
static bool fix_up_copy(struct trap_frame *frame) {
    uintptr_t value = trap_address(frame) & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t recovery = carry_fault_find(*trap_pc(frame), &value);
    if (!recovery)
        return false;
    *trap_value(frame) = value;
    note_row(*trap_pc(frame));
    trap_go_on(frame, recovery);
    __atomic_fetch_add(&trap_fixed, 1, __ATOMIC_RELAXED);
    return true;
}

/* Unwinds code to its frame. The code had no permission to access user pages when it entered the
 * frame. */
static bool unwind_frame(struct trap_frame *frame) {
    uintptr_t address = trap_address(frame);
    const void *known = address == CARRY_NO_ADDRESS ? NULL : (const void *)address;
    uintptr_t value;
    uintptr_t recovery = carry_fault_unwind(known, (int)frame->vector, &value);
    if (!recovery)
        return false;
    *trap_value(frame) = value;
    trap_go_on(frame, recovery);
    trap_forbid_user(frame);
    return true;
}

/* Recovers from a fault or calls the handler of the vector. Returns false if neither is possible.
 */
static bool recover_or_handle(struct trap_frame *frame) {
    trap_handler *handler = __atomic_load_n(&handlers[frame->vector], __ATOMIC_SEQ_CST);
    if (trap_is_fault(frame) && (fix_up_copy(frame) || unwind_frame(frame)))
        return true;
    return (handler && handler(frame)) || frame->vector == TRAP_SPURIOUS;
}

void trap(struct trap_frame *frame) {
    struct cpu *cpu = cpu_here();
    const struct cpu before = *cpu;
    const struct interrupted here = {frame, before.interrupted};
    const bool is_nmi = frame->vector == TRAP_NMI;
    page_forbid_user(); /* the interrupted code may have the permission, and regains it later */
    cpu->interrupted = &here;
    cpu->in_interrupt |= trap_is_interrupt(frame);
    cpu->in_nmi |= is_nmi;
    if (trap_is_interrupt(frame) || is_nmi)
        cpu->frames = NULL;
    if (!recover_or_handle(frame))
        PANIC("trap %lu (error %lx) at %lx, address %lx, cpu %u", frame->vector, frame->error,
              *trap_pc(frame), trap_address(frame), cpu->index);
    if (trap_is_interrupt(frame) && frame->vector != TRAP_SPURIOUS)
        cpu_acknowledge(frame);
    cpu->interrupted = before.interrupted;
    if (trap_is_interrupt(frame) || is_nmi)
        cpu->frames = before.frames;
    cpu->in_interrupt = before.in_interrupt;
    cpu->in_nmi = before.in_nmi;
    if (!cpu->in_interrupt && !cpu->in_nmi)
        section_return();
}
