/* SPDX-License-Identifier: MIT */
/* Accesses, copies and frames that survive faults: the parts that C and assembly share. */
#ifndef CARRY_COPY_FAULT_H
#define CARRY_COPY_FAULT_H

#include <carry/fault.h>

#include "base/fault_host.h"

/* A row of section carry_faults. Both offsets are relative to their own address:
 * base/fault_asm.h. */
struct carry_fault_row {
    int32_t instruction;
    int32_t recovery;
    uint32_t done;
};

/* Read or write with one access of 1, 2, 4 or 8 bytes: src/copy/<arch>/access. */
bool carry_read_once(void *value, const void *src, size_t size);
bool carry_write_once(void *dst, const void *value, size_t size);

/* End carry_fault_enter(), and continue in a frame: src/copy/frame.c, and src/copy/<arch>/enter. */
int carry_fault_push(struct carry_fault_frame *frame);
void carry_fault_resume(void);

#endif
