/* SPDX-License-Identifier: MIT */
/* Inside of `copy`: the instructions that may fault, and where the program goes on if they do. */
#ifndef CARRY_COPY_FAULT_H
#define CARRY_COPY_FAULT_H

#include <carry/base.h>

/* A row of section carry_faults: both offsets count from their own place. See base/fault.h. */
struct carry_fault_row {
    int32_t instruction;
    int32_t recovery;
};

#endif
