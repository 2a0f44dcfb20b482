/* SPDX-License-Identifier: MIT */
/*
 * Writes entries of Linux's own table (asm/extable_fixup_types.h), in place of
 * src/base/fault_table.h. Linux's handler does not report the page that faulted, but it can load a
 * constant: -4096, which base/fault_asm.h defines as "page unknown", plus `done`. The recovery then
 * continues byte by byte from there, and a second fault ends it at the exact byte.
 *
 * ROWS_OFF_BY is 1 in the mutant whose entries are all wrong.
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_TABLE_H
#define CARRY_BASE_FAULT_TABLE_H

#include <asm/asm.h>
#include <asm/extable_fixup_types.h>

#define RAX 0

.macro CARRY_FAULT_ENTRY instruction, recovery, done
    _ASM_EXTABLE_TYPE(\instruction + ROWS_OFF_BY, \recovery,
                      EX_TYPE_IMM_REG | EX_DATA_REG(RAX) | EX_DATA_IMM(-4096 + (\done)))
.endm

#endif
