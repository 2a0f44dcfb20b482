/* SPDX-License-Identifier: MIT */
/* The interrupt controller of the board (GICv2, IHI 0048). */
#ifndef BAREMETAL_GIC_H
#define BAREMETAL_GIC_H

#include "kernel.h"

enum gic_interrupt {
    GIC_CALL = 0,     /* a call by the other CPU */
    GIC_NMI = 1,      /* in group 0, which is signalled as FIQ; all others are in group 1 */
    GIC_TIMER = 27,   /* the virtual timer of this CPU */
    GIC_NONE = 1020,  /* this number or above: there is no interrupt */
    GIC_NUMBER = 1023 /* mask of the number in GICC_IAR */
};

void gic_prepare(void); /* prepares the controller for this CPU */
void gic_send(unsigned cpus, enum gic_interrupt interrupt);
uint32_t gic_acknowledge(void);
void gic_end(uint32_t acknowledged);

#endif
