/* SPDX-License-Identifier: MIT */
/* Properties of the kernel on x86-64, also for assembly; kernel.h includes this file. */
#ifndef BAREMETAL_MACHINE_H
#define BAREMETAL_MACHINE_H

#define CODE64 0x08
#define DATA   0x10
#define CODE32 0x18
#define TSS    0x20

#define CR0_MP 0x00000002
#define CR0_EM 0x00000004
#define CR0_TS 0x00000008
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_PG 0x80000000

#define CR4_PAE        0x00000020
#define CR4_OSFXSR     0x00000200
#define CR4_OSXMMEXCPT 0x00000400
#define CR4_OSXSAVE    0x00040000
#define CR4_SMAP       0x00200000

#define EFLAGS_TF 0x00000100
#define EFLAGS_IF 0x00000200
#define EFLAGS_DF 0x00000400
#define EFLAGS_AC 0x00040000

#define MSR_APIC_BASE 0x1b
#define MSR_EFER      0xc0000080
#define MSR_GS_BASE   0xc0000101
#define EFER_LME      0x100
#define EFER_NXE      0x800

#define SECOND_START 0x8000
#define TRAP_VECTORS 64

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector;
    uint64_t error;
    uint64_t rip, cs, rflags, rsp, ss;
};

enum trap_vector {
    TRAP_DEBUG = 1,
    TRAP_NMI = 2,
    TRAP_BREAKPOINT = 3,
    TRAP_UNDEFINED = 6,
    TRAP_NO_FPU = 7,
    TRAP_PROTECTION = 13,
    TRAP_PAGE = 14,
    TRAP_NO_ADDRESS = TRAP_PROTECTION, /* an access to an address that cannot exist */
    TRAP_TIMER = 32,
    TRAP_CALL = 33, /* IPI: this CPU runs a function for the other CPU */
    TRAP_SPURIOUS = 63,
};

/* Distance from a breakpoint to the saved pc, which points past the instruction. */
#define TRAP_BREAKPOINT_BYTES 1

static inline uint64_t *trap_pc(struct trap_frame *frame) {
    return &frame->rip;
}

static inline void trap_go_on(struct trap_frame *frame, uint64_t recovery) {
    frame->rip = recovery;
}

/* Returns the address of the register in which recoveries of faults receive their value. */
static inline uint64_t *trap_value(struct trap_frame *frame) {
    return &frame->rax;
}

static inline void trap_breakpoint(void) {
    __asm__ volatile("int3");
}

/* Does nothing: the saved pc already points past the breakpoint. */
static inline void trap_pass_breakpoint(struct trap_frame *frame) {
    (void)frame;
}

/* Returns whether the interrupted code had permission to access user pages. */
static inline bool trap_had_leave(const struct trap_frame *frame) {
    return frame->rflags & EFLAGS_AC;
}

/* Returns the address that a frame reports for an access to a non-canonical address. */
#define TRAP_TOLD_OF(address) NULL

static inline bool trap_is_interrupt(const struct trap_frame *frame) {
    return frame->vector >= 32;
}

static inline struct cpu *cpu_here(void) {
    struct cpu *cpu;
    __asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
    return cpu;
}

static inline void cpu_pause(void) {
    __builtin_ia32_pause();
}

/* --- Interrupts: values of the flags --- */

#define CPU_ON  EFLAGS_IF
#define CPU_OFF UINT64_C(0)

static inline uint64_t cpu_flags(void) {
    uint64_t flags;
    __asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
    return flags;
}

static inline bool cpu_is_on(uint64_t flags) {
    return flags & EFLAGS_IF;
}

static inline void cpu_interrupts_on(void) {
    __asm__ volatile("sti" : : : "memory");
}

static inline uint64_t cpu_interrupts_off(void) {
    uint64_t flags;
    __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags) : : "memory");
    return flags;
}

/* Enables interrupts and waits for one; none can arrive between the two instructions. */
static inline void cpu_wait(void) {
    __asm__ volatile("sti; hlt" : : : "memory");
}

/* --- Text: whether stores of two bytes, or of four aligned ones, are atomic --- */

#define TEXT_WRITES_PAIRS false

#endif
#endif
