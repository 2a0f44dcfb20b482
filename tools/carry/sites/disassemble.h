/* SPDX-License-Identifier: MIT */
/* Disassembles instructions of x86-64, and the instructions of AArch64 that occur in sites. */
#ifndef CARRY_TOOLS_SITES_DISASSEMBLE_H
#define CARRY_TOOLS_SITES_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_TEXT 128

struct instruction {
    size_t length;
    bool relative;         /* an operand is relative to the instruction */
    bool ends_in_relative; /* the 32 bits of that operand are the last four bytes */
    uint64_t target;       /* the address that this operand names */
    bool calls;
    bool moves; /* the library can move it, as the first instruction of an alternative */
};

/* Reads the first instruction of `bytes`; returns false if the bytes are not an instruction. */
typedef bool disassemble_fn(const uint8_t *bytes, size_t size, uint64_t address,
                            struct instruction *instruction);
disassemble_fn disassemble_x86_64, disassemble_aarch64;

/*
 * Writes the first instruction as text; "(bad)" if the bytes are not an instruction. On x86-64, the
 * text has AT&T syntax, and NOPs of all lengths are "nop". On AArch64, only NOP, branches, ADR and
 * ADRP have names; other instructions are data (.inst).
 */
typedef void disassemble_text_fn(const uint8_t *bytes, size_t size, uint64_t address,
                                 char text[INSTRUCTION_TEXT]);
disassemble_text_fn disassemble_x86_64_text, disassemble_aarch64_text;

/* Replaces the target of a relative instruction in its text by a name, if there is room. */
void disassemble_name_target(char text[INSTRUCTION_TEXT], const char *name);

/* Returns the number of instructions in `bytes`; 0 if they are not whole instructions. */
size_t disassemble_count(disassemble_fn *disassemble, const uint8_t *bytes, size_t size);

#endif
