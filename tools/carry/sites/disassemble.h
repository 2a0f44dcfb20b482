/* SPDX-License-Identifier: MIT */
/* Instructions of x86-64, by Zydis. */
#ifndef CARRY_TOOLS_SITES_DISASSEMBLE_H
#define CARRY_TOOLS_SITES_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_TEXT 128

struct instruction {
    size_t length;
    bool relative;         /* an operand counts from the instruction's end, ... */
    bool ends_in_relative; /* ... and its 32 bits are the last four bytes */
    uint64_t target;       /* of that operand */
    bool calls;
};

/* What stands first in `bytes`; false if that is no instruction. */
bool disassemble(const uint8_t *bytes, size_t size, uint64_t address,
                 struct instruction *instruction);

/* The same as text in AT&T syntax; "(bad)" if it is none. NOPs of all lengths are "nop". */
void disassemble_text(const uint8_t *bytes, size_t size, uint64_t address,
                      char text[INSTRUCTION_TEXT]);

/* Writes a name for the target of a relative instruction in its text, if there is room. */
void disassemble_name_target(char text[INSTRUCTION_TEXT], const char *name);

/* How many instructions these bytes are; 0 if they are none, or end inside one. */
size_t disassemble_count(const uint8_t *bytes, size_t size);

#endif
