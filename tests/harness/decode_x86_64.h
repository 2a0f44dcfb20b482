/* SPDX-License-Identifier: MIT */
/* Decodes the next instruction of interrupted code, as far as it affects extended state. */
#ifndef CARRY_TESTS_DECODE_X86_64_H
#define CARRY_TESTS_DECODE_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum encoding { LEGACY, VEX, EVEX };

/* Mandatory prefixes, as bits of a set. */
enum { NP = 1, P66 = 2, PF3 = 4, PF2 = 8 };

struct instruction {
    enum encoding encoding;
    unsigned map; /* opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A */
    uint8_t opcode;
    uint8_t prefix;
    unsigned length; /* vector length: 128 << length bits */
    unsigned digit;  /* bits 3 to 5 of ModRM */
    unsigned reg;    /* `digit` with its extension: up to 31 */
    bool is_memory;
    uintptr_t address;  /* of the memory operand, if no immediate follows */
    const uint8_t *end; /* the end of the instruction without its immediate */
};

struct instruction decode(const greg_t *registers);

#endif
