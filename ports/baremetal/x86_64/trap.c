/* SPDX-License-Identifier: MIT */
/* Sets up the entries of exceptions and interrupts, and reads their causes. */
#include "base/fault_host.h"
#include "io.h"
#include "kernel.h"

#define GDT_ENTRIES 6

struct idt_entry {
    uint16_t low;
    uint16_t selector;
    uint8_t stack; /* index of a stack in the TSS, or 0 for the stack in use */
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

/*
 * Fills the IDT. NMIs have a stack of their own, because they arrive at any instruction, even while
 * another handler switches stacks.
 */
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

bool trap_is_fault(const struct trap_frame *frame) {
    return frame->vector == TRAP_PAGE || frame->vector == TRAP_PROTECTION;
}

uintptr_t trap_address(const struct trap_frame *frame) {
    return frame->vector == TRAP_PAGE ? io_cr2() : CARRY_NO_ADDRESS;
}

void trap_forbid_user(struct trap_frame *frame) {
    frame->rflags &= ~(uint64_t)EFLAGS_AC;
}
