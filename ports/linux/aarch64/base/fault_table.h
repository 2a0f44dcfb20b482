/* SPDX-License-Identifier: MIT */
/*
 * Writes entries of Linux's own table (asm/asm-extable.h), in place of src/base/fault_table.h.
 * Linux's handler does not report the page, and can load only 0. So each entry continues at two
 * instructions of its own: the first loads x16 with the value that base/fault_aarch64.h expects,
 * which is -4096 for "page unknown" plus `done`. The recovery then continues byte by byte, and a
 * second fault ends it at the exact byte.
 *
 * ROWS_OFF_BY is 1 in the mutant whose entries are all wrong.
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_TABLE_H
#define CARRY_BASE_FAULT_TABLE_H

#include <asm/asm-extable.h>

.macro CARRY_FAULT_ENTRY instruction, recovery, done
    .pushsection .text, 1
.Lfix_up_\@:
    mov     x16, #-4096 + (\done)
    b       \recovery
    .popsection
    _asm_extable_uaccess (\instruction + 4 * ROWS_OFF_BY), .Lfix_up_\@
.endm

#endif
