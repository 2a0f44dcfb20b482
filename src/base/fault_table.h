/* SPDX-License-Identifier: MIT */
/*
 * An entry of the table: after a fault at the label `instruction`, execution continues at
 * `recovery`, with `done` bytes copied (see base/fault_asm.h). A linker that drops unused sections
 * (lld with --gc-sections) keeps the entries of a file if it keeps the text that the first entry
 * refers to. An operating-system kernel whose page-fault handler has its own table provides its own
 * file of this name, in a folder that its compiler searches first (ports/linux).
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_TABLE_H
#define CARRY_BASE_FAULT_TABLE_H

.macro CARRY_FAULT_ENTRY instruction, recovery, done
    .ifndef .Lfaults_of
.Lfaults_of:
    .endif
    .pushsection carry_faults, "ao", @progbits, .Lfaults_of
    .balign 4
    .long   \instruction - ., \recovery - ., \done
    .popsection
.endm

#endif
