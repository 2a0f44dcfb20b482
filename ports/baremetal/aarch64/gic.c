/* SPDX-License-Identifier: MIT */
#include "gic.h"

#define DISTRIBUTOR   UINT64_C(0x08000000)
#define CPU_INTERFACE UINT64_C(0x08010000)

enum gic_register {
    GICD_CTLR = 0x000,
    GICD_IGROUPR = 0x080,
    GICD_ISENABLER = 0x100,
    GICD_IPRIORITYR = 0x400,
    GICD_SGIR = 0xf00,
    GICC_CTLR = 0x00,
    GICC_PMR = 0x04,
    GICC_IAR = 0x0c,
    GICC_EOIR = 0x10,
};

#define BOTH_GROUPS    0x3
#define ACKNOWLEDGES   0x4 /* one register acknowledges both groups */
#define GROUP_0_IS_FIQ 0x8
#define LEAST_URGENT   0xff

/* The priority of all interrupts except the NMI, whose priority is higher. */
#define PRIORITY 0x80

static volatile uint32_t *gic_word(uint64_t base, enum gic_register index) {
    return (volatile uint32_t *)(base + index);
}

static void set_priority(enum gic_interrupt interrupt, uint8_t priority) {
    *(volatile uint8_t *)(DISTRIBUTOR + GICD_IPRIORITYR + interrupt) = priority;
}

/* Enables the three interrupts. Their numbers are below 32, so each CPU has its own registers for
   them. */
void gic_prepare(void) {
    *gic_word(DISTRIBUTOR, GICD_IGROUPR) = ~(UINT32_C(1) << GIC_NMI);
    set_priority(GIC_CALL, PRIORITY);
    set_priority(GIC_TIMER, PRIORITY);
    set_priority(GIC_NMI, 0);
    *gic_word(DISTRIBUTOR, GICD_ISENABLER) =
        UINT32_C(1) << GIC_CALL | UINT32_C(1) << GIC_NMI | UINT32_C(1) << GIC_TIMER;
    *gic_word(DISTRIBUTOR, GICD_CTLR) = BOTH_GROUPS;
    *gic_word(CPU_INTERFACE, GICC_PMR) = LEAST_URGENT;
    *gic_word(CPU_INTERFACE, GICC_CTLR) = BOTH_GROUPS | ACKNOWLEDGES | GROUP_0_IS_FIQ;
}

/* Interrupts `cpus`. The barrier lets them read what this CPU has written before. */
void gic_send(unsigned cpus, enum gic_interrupt interrupt) {
    __asm__ volatile("dsb ish" : : : "memory");
    *gic_word(DISTRIBUTOR, GICD_SGIR) = cpus << 16 | interrupt;
}

uint32_t gic_acknowledge(void) {
    return *gic_word(CPU_INTERFACE, GICC_IAR);
}

void gic_end(uint32_t acknowledged) {
    *gic_word(CPU_INTERFACE, GICC_EOIR) = acknowledged;
}
