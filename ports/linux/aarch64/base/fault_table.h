/* SPDX-License-Identifier: MIT */
/*
 * An entry of Linux's own table (asm/asm-extable.h), in place of src/base/fault_table.h. Linux's
 * handler tells nothing and loads nothing but 0: so each entry goes on at two instructions of its
 * own, the first of which loads what base/fault_aarch64.h wants in x16. That is -4096, for "nobody
 * knows" which page, and what is done. The recovery then goes on byte by byte, and a second fault
 * ends that at the exact byte.
 *
 * ROWS_OFF_BY is 1 where the tests are to find that no entry is right.
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
