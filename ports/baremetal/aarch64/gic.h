/* SPDX-License-Identifier: MIT */
/* The interrupt controller of the board (GICv2, IHI 0048). */
#ifndef BAREMETAL_GIC_H
#define BAREMETAL_GIC_H

#include "kernel.h"

enum gic_interrupt {
    GIC_CALL = 0,     /* from the other CPU */
    GIC_NMI = 1,      /* of group 0, which is signalled as FIQ; all others are of group 1 */
    GIC_TIMER = 27,   /* the virtual one of this CPU */
    GIC_NONE = 1020,  /* and above: there is none */
    GIC_NUMBER = 1023 /* mask of the number in GICC_IAR */
};

void gic_prepare(void); /* of this CPU */
void gic_send(unsigned cpus, enum gic_interrupt interrupt);
uint32_t gic_acknowledge(void);
void gic_end(uint32_t acknowledged);

#endif
