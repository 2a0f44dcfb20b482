/* SPDX-License-Identifier: MIT */
/*
 * An entry of the table: a fault at the label `instruction` is survived at `recovery`, with `done`
 * bytes copied, as fault.h says. Linkers that drop what is not used (lld with --gc-sections) keep
 * entries with the text of the first one in the file. A kernel whose handler of page faults has a
 * table of its own brings a file of this name, in a folder that its compiler looks into first
 * (ports/linux).
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
