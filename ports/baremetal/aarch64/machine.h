/* SPDX-License-Identifier: MIT */
/*
 * Properties of the kernel on AArch64, also for assembly; kernel.h includes this file. The kernel
 * runs at EL1 on QEMU's board "virt", with a GICv2 and PSCI. The manual is the Arm ARM (DDI 0487).
 */
#ifndef BAREMETAL_MACHINE_H
#define BAREMETAL_MACHINE_H

/*
 * The first GiB of addresses belongs to devices. The kernel lies in one block of 2 MiB. Its text
 * can be written only at TEXT_ALIAS + address.
 */
#define MEMORY_START 0x40000000
#define BLOCK_BYTES  0x200000
#define TEXT_ALIAS   0x0000018000000000

/* Bits of descriptors (D8.3). */
#define ENTRY_BLOCK     0x1
#define ENTRY_TABLE     0x3
#define ENTRY_PAGE      0x3
#define ENTRY_NORMAL    0x4 /* index 1 of MAIR_EL1 */
#define ENTRY_USER      0x40
#define ENTRY_READ_ONLY 0x80
#define ENTRY_SHARED    0x300
#define ENTRY_ACCESSED  0x400
#define ENTRY_DATA      0x0060000000000000 /* never executed */

/* Fields of registers. */
#define PSTATE_FIQ_OFF 0x40
#define PSTATE_IRQ_OFF 0x80
#define PSTATE_BTYPE   0xc00
#define PSTATE_PAN     0x400000
#define CPACR_VECTORS  0x300000
#define SCTLR_SPAN     0x800000

/* Offsets in struct trap_frame, for assembly. */
#define FRAME_PC      248
#define FRAME_PSTATE  256
#define FRAME_VECTOR  264
#define FRAME_ERROR   272
#define FRAME_ADDRESS 280
#define FRAME_BYTES   288

/* Offsets in the vector table for exceptions that arrive at EL1, on its own stack (D1.3). */
#define TRAP_ENTRY_SYNCHRONOUS 0x200
#define TRAP_ENTRY_IRQ         0x280
#define TRAP_ENTRY_FIQ         0x300

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

struct trap_frame {
    uint64_t x[31];
    uint64_t pc;
    uint64_t pstate;
    uint64_t vector;
    uint64_t error;   /* ESR_EL1, or the number from the GIC for an interrupt */
    uint64_t address; /* FAR_EL1 */
};

/* Exceptions by their class (ESR_EL1.EC), then interrupts. */
enum trap_vector {
    TRAP_UNDEFINED = 0x00,
    TRAP_NO_FPU = 0x07,
    TRAP_TEXT = 0x21,
    TRAP_PAGE = 0x25,
    TRAP_NO_ADDRESS = TRAP_PAGE, /* an access to an address that cannot exist */
    TRAP_BREAKPOINT = 0x3c,
    TRAP_TIMER = 64,
    TRAP_CALL,     /* SGI: this CPU runs a function for the other CPU */
    TRAP_SPURIOUS, /* an interrupt without a source */
    TRAP_NMI,      /* FIQ, which arrives even while interrupts (IRQ) are off */
    TRAP_VECTORS,
};

/* Distance from a breakpoint to the saved pc: 0, since the pc is at the instruction itself. */
#define TRAP_BREAKPOINT_BYTES 0

static inline uint64_t *trap_pc(struct trap_frame *frame) {
    return &frame->pc;
}

/* Continues at `recovery`. Clears BTYPE, because `recovery` is not a landing pad (BTI). */
static inline void trap_go_on(struct trap_frame *frame, uint64_t recovery) {
    frame->pc = recovery;
    frame->pstate &= ~(uint64_t)PSTATE_BTYPE;
}

/* Returns the address of the register in which recoveries of faults receive their value. */
static inline uint64_t *trap_value(struct trap_frame *frame) {
    return &frame->x[16];
}

static inline void trap_breakpoint(void) {
    __asm__ volatile("brk #1");
}

/* Skips the breakpoint instruction. */
static inline void trap_pass_breakpoint(struct trap_frame *frame) {
    frame->pc += 4;
}

/* Returns whether the interrupted code had permission to access user pages. */
static inline bool trap_had_leave(const struct trap_frame *frame) {
    return !(frame->pstate & PSTATE_PAN);
}

/* Returns the address that a frame reports for an access to a non-canonical address. */
#define TRAP_TOLD_OF(address) (address)

static inline bool trap_is_interrupt(const struct trap_frame *frame) {
    return frame->vector == TRAP_TIMER || frame->vector == TRAP_CALL ||
           frame->vector == TRAP_SPURIOUS;
}

/* Read and write a system register by name, or by number for assemblers that may not know the
   name. */
#define CPU_READ(name)                                                                             \
    __extension__({                                                                                \
        uint64_t cpu_value;                                                                        \
        __asm__ volatile("mrs %0, " name : "=r"(cpu_value) : : "memory");                          \
        cpu_value;                                                                                 \
    })
#define CPU_WRITE(name, value)                                                                     \
    __asm__ volatile("msr " name ", %0" : : "r"((uint64_t)(value)) : "memory")

static inline struct cpu *cpu_here(void) {
    struct cpu *cpu;
    __asm__ volatile("mrs %0, tpidr_el1" : "=r"(cpu));
    return cpu;
}

static inline void cpu_pause(void) {
    __asm__ volatile("yield" : : : "memory");
}

/* --- Interrupts: values of the flags --- */

#define CPU_ON  UINT64_C(0)
#define CPU_OFF UINT64_C(PSTATE_IRQ_OFF)

static inline uint64_t cpu_flags(void) {
    return CPU_READ("daif");
}

static inline bool cpu_is_on(uint64_t flags) {
    return !(flags & PSTATE_IRQ_OFF);
}

static inline void cpu_interrupts_on(void) {
    __asm__ volatile("msr daifclr, #2" : : : "memory");
}

static inline uint64_t cpu_interrupts_off(void) {
    uint64_t flags = cpu_flags();
    __asm__ volatile("msr daifset, #2" : : : "memory");
    return flags;
}

/* Enables interrupts and waits for one; a pending one ends the wait. */
static inline void cpu_wait(void) {
    __asm__ volatile("dsb sy; wfi" : : : "memory");
    cpu_interrupts_on();
}

/* --- Text: whether stores of two bytes, or of four aligned ones, are atomic --- */

#define TEXT_WRITES_PAIRS true

#endif
#endif
