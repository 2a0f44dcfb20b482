/* SPDX-License-Identifier: MIT */
/*
 * Macros for instructions of copies that may fault, one for each label at which execution then
 * continues. The header of the architecture defines CARRY_FAULT_ROW, and the labels in
 * CARRY_RECOVER.
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_ROWS_H
#define CARRY_BASE_FAULT_ROWS_H

.macro CARRY_LOAD done, instruction:vararg
    CARRY_FAULT_ROW .Lload_faulted, \done, \instruction
.endm

.macro CARRY_STORE done, instruction:vararg
    CARRY_FAULT_ROW .Lstore_faulted, \done, \instruction
.endm

.macro CARRY_BYTES done, instruction:vararg
    CARRY_FAULT_ROW .Lbytes_faulted, \done, \instruction
.endm

#endif
