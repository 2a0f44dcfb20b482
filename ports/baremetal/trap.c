/* SPDX-License-Identifier: MIT */
/* Exceptions and interrupts of both CPUs, and the fix-up of copies that fault. */
#include "base/fault_host.h"
#include "io.h"
#include "kernel.h"

#define GDT_ENTRIES 6

struct idt_entry {
    uint16_t low;
    uint16_t selector;
    uint8_t stack; /* of the TSS, or 0 for the one in use */
    uint8_t type;
    uint16_t middle;
    uint32_t high;
    uint32_t zero;
} __attribute__((packed));

struct table_register {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

struct tss {
    uint32_t reserved;
    uint64_t rsp[3];
    uint64_t zero;
    uint64_t ist[7];
    uint64_t zeroes;
    uint16_t zero_word;
    uint16_t io_map;
} __attribute__((packed));

extern const uint8_t trap_entries[TRAP_VECTORS][16];

static struct idt_entry idt[TRAP_VECTORS];
static uint64_t gdt[CPUS][GDT_ENTRIES];
static struct tss tss[CPUS];
static uint8_t nmi_stack[CPUS][16384] __attribute__((aligned(16)));
static trap_handler *handlers[TRAP_VECTORS];

uint64_t trap_fixed;

/* Rows of base/fault.h: the places of an instruction and of where to go on, and what is done. */
extern int32_t __start_carry_faults[][3], __stop_carry_faults[][3];
static bool reached[2048];

static size_t row_count(void) {
    size_t count = (size_t)(__stop_carry_faults - __start_carry_faults);
    if (count > sizeof reached)
        PANIC("%zu rows of faults, room for %zu", count, sizeof reached);
    return count;
}

void trap_break_row(size_t index) {
    if (index < row_count())
        __start_carry_faults[index][0]++;
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

/* NMIs come at any instruction, those of other handlers' stack switches too. */
static void fill_idt(void) {
    for (unsigned i = 0; i < TRAP_VECTORS; i++) {
        uint64_t entry = (uint64_t)trap_entries[i];
        idt[i] = (struct idt_entry){
            .low = (uint16_t)entry,
            .selector = CODE64,
            .stack = i == TRAP_NMI,
            .type = 0x8e, /* interrupt gate */
            .middle = (uint16_t)(entry >> 16),
            .high = (uint32_t)(entry >> 32),
        };
    }
}

void trap_load(unsigned cpu) {
    struct table_register gdtr = {sizeof gdt[cpu] - 1, (uint64_t)gdt[cpu]};
    struct table_register idtr = {sizeof idt - 1, (uint64_t)idt};
    uint64_t base = (uint64_t)&tss[cpu];
    fill_idt();
    tss[cpu].ist[0] = (uint64_t)nmi_stack[cpu] + sizeof nmi_stack[cpu];
    tss[cpu].io_map = sizeof tss[cpu];
    gdt[cpu][CODE64 / 8] = 0x00af9b000000ffff;
    gdt[cpu][DATA / 8] = 0x00cf93000000ffff;
    gdt[cpu][CODE32 / 8] = 0x00cf9b000000ffff;
    gdt[cpu][TSS / 8] = (sizeof tss[cpu] - 1) | (base & 0xffffff) << 16 | UINT64_C(0x89) << 40 |
                        (base >> 24 & 0xff) << 56;
    gdt[cpu][TSS / 8 + 1] = base >> 32;
    __asm__ volatile("lgdt %0" : : "m"(gdtr));
    __asm__ volatile("lidt %0" : : "m"(idtr));
    __asm__ volatile("ltr %w0" : : "r"(TSS));
}

/* What a kernel's handler of page faults does for the core's copies. */
static bool fix_up(struct trap_frame *frame) {
    uintptr_t value =
        frame->vector == TRAP_PAGE ? io_cr2() & ~(uint64_t)(PAGE_BYTES - 1) : CARRY_NO_ADDRESS;
    uintptr_t recovery = carry_fault_find(frame->rip, &value);
    if (!recovery)
        return false;
    frame->rax = value;
    note_row(frame->rip);
    frame->rip = recovery;
    __atomic_fetch_add(&trap_fixed, 1, __ATOMIC_RELAXED);
    return true;
}

/* And for code in frames, which had no leave to reach user pages when it entered them. */
static bool unwind(struct trap_frame *frame) {
    const void *address = frame->vector == TRAP_PAGE ? (const void *)io_cr2() : NULL;
    uintptr_t recovery = carry_fault_unwind(address, (int)frame->vector, &frame->rax);
    if (!recovery)
        return false;
    frame->rip = recovery;
    frame->rflags &= ~(uint64_t)EFLAGS_AC;
    return true;
}

static bool survive(struct trap_frame *frame) {
    bool is_fault = frame->vector == TRAP_PAGE || frame->vector == TRAP_PROTECTION;
    return is_fault && (fix_up(frame) || unwind(frame));
}

static bool handle(struct trap_frame *frame) {
    trap_handler *handler = __atomic_load_n(&handlers[frame->vector], __ATOMIC_SEQ_CST);
    return survive(frame) || (handler && handler(frame)) || frame->vector == TRAP_SPURIOUS;
}

static bool is_interrupt(const struct trap_frame *frame) {
    return frame->vector >= 32 || frame->vector == TRAP_NMI;
}

void trap(struct trap_frame *frame);
void trap(struct trap_frame *frame) {
    struct cpu *cpu = cpu_here();
    const struct cpu before = *cpu;
    const struct interrupted here = {frame, before.interrupted};
    page_forbid_user(); /* what is interrupted may have leave, and has it again behind */
    cpu->interrupted = &here;
    cpu->in_interrupt |= frame->vector >= 32;
    cpu->in_nmi |= frame->vector == TRAP_NMI;
    if (is_interrupt(frame))
        cpu->frames = NULL;
    if (!handle(frame))
        PANIC("trap %lu (error %lx) at %lx, cr2 %lx, cpu %u", frame->vector, frame->error,
              frame->rip, io_cr2(), cpu->index);
    if (frame->vector >= 32 && frame->vector != TRAP_SPURIOUS)
        cpu_acknowledge();
    cpu->interrupted = before.interrupted;
    if (is_interrupt(frame))
        cpu->frames = before.frames;
    cpu->in_interrupt = before.in_interrupt;
    cpu->in_nmi = before.in_nmi;
    if (!cpu->in_interrupt && !cpu->in_nmi)
        section_return();
}
