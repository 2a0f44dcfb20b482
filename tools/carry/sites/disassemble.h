/* SPDX-License-Identifier: MIT */
/* Instructions of x86-64, and those of AArch64 that sites are made of. */
#ifndef CARRY_TOOLS_SITES_DISASSEMBLE_H
#define CARRY_TOOLS_SITES_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_TEXT 128

struct instruction {
    size_t length;
    bool relative;         /* an operand is relative to the instruction, ... */
    bool ends_in_relative; /* ... and its 32 bits are the last four bytes */
    uint64_t target;       /* of that operand */
    bool calls;
    bool moves; /* the library moves it, as the first instruction of an alternative */
};

/* What stands first in `bytes`; false if that is no instruction. */
typedef bool disassemble_fn(const uint8_t *bytes, size_t size, uint64_t address,
                            struct instruction *instruction);
disassemble_fn disassemble_x86_64, disassemble_aarch64;

/*
 * The same as text; "(bad)" if it is none. Of x86-64 in AT&T syntax, where NOPs of all lengths are
 * "nop"; of AArch64 NOP and branches alone, as other instructions are data (.inst) here.
 */
typedef void disassemble_text_fn(const uint8_t *bytes, size_t size, uint64_t address,
                                 char text[INSTRUCTION_TEXT]);
disassemble_text_fn disassemble_x86_64_text, disassemble_aarch64_text;

/* Writes a name for the target of a relative instruction in its text, if there is room. */
void disassemble_name_target(char text[INSTRUCTION_TEXT], const char *name);

/* How many instructions these bytes are; 0 if they are none, or end inside one. */
size_t disassemble_count(disassemble_fn *disassemble, const uint8_t *bytes, size_t size);

#endif
