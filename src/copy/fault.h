/* SPDX-License-Identifier: MIT */
/* Inside of `copy`: copies that survive faults, and what their host does for them. */
#ifndef CARRY_COPY_FAULT_H
#define CARRY_COPY_FAULT_H

#include <carry/fault.h>

#include "base/fault_host.h"

/* A row of section carry_faults: both offsets count from their own place. See base/fault.h. */
struct carry_fault_row {
    int32_t instruction;
    int32_t recovery;
    uint32_t done;
};

/* One access, of a size that there is: src/copy/<arch>/access. */
bool carry_read_once(void *value, const void *src, size_t size);
bool carry_write_once(void *dst, const void *value, size_t size);

/* The end of carry_fault_enter(), and where a frame goes on: src/copy/<arch>/enter. */
int carry_fault_push(struct carry_fault_frame *frame);
void carry_fault_resume(void);

#endif
