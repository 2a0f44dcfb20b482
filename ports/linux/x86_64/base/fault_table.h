/* SPDX-License-Identifier: MIT */
/*
 * An entry of Linux's own table (asm/extable_fixup_types.h), in place of src/base/fault_table.h.
 * Its handler does not tell which page could not be reached, but it can load a constant: -4096,
 * which base/fault.h has for "nobody knows", and what is done. The recovery then goes on byte by
 * byte from where the copy was, and a second fault ends that at the exact byte.
 *
 * ROWS_OFF_BY is 1 where the tests are to find that no entry is right.
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
