/* SPDX-License-Identifier: MIT */
/*
 * An entry of the table: a fault at the label `instruction` is survived at `recovery`, with `done`
 * bytes copied, as fault.h tells. A kernel whose handler of page faults has a table of its own
 * brings a file of this name, in a folder that its compiler looks into first (ports/linux).
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_TABLE_H
#define CARRY_BASE_FAULT_TABLE_H

.macro CARRY_FAULT_ENTRY instruction, recovery, done
    .pushsection carry_faults, "a", @progbits
    .balign 4
    .long   \instruction - ., \recovery - ., \done
    .popsection
.endm

#endif
