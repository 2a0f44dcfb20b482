/* SPDX-License-Identifier: MIT */
/* Accesses, copies and frames that survive faults: the parts that C and assembly share. */
#ifndef CARRY_COPY_FAULT_H
#define CARRY_COPY_FAULT_H

#include <carry/fault.h>

#include "base/fault_host.h"

/* A row of section carry_faults. `instruction` and `recovery` are offsets, each relative to its own
 * address: see base/fault_table.h. */
struct carry_fault_row {
    int32_t instruction;
    int32_t recovery;
    uint32_t done;
};

/* Read or write with one access of 1, 2, 4 or 8 bytes: src/copy/<arch>/access. Return false if it
 * faults. */
bool carry_read_once(void *value, const void *src, size_t size);
bool carry_write_once(void *dst, const void *value, size_t size);

/* carry_fault_push() completes carry_fault_enter(): see src/copy/frame.c. After a fault,
 * carry_fault_resume() continues in a frame: see src/copy/<arch>/enter. */
int carry_fault_push(struct carry_fault_frame *frame);
void carry_fault_resume(void);

#endif
