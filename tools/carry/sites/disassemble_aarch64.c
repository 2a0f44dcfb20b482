/* SPDX-License-Identifier: MIT */
/*
 * Disassembles relative instructions of AArch64 (Arm ARM, C4.1). All instructions have four bytes,
 * so other instructions need not be decoded.
 */
#include "sites/disassemble.h"

#include <inttypes.h>
#include <stdio.h>

#include "sites/object.h"

#define INSTRUCTION_BYTES 4
#define PAGE_SHIFT        12

/* The operands before an offset. */
enum form { ALONE, CONDITION, REGISTER, BIT, ADDRESS };

/* Instructions that contain an offset in `bits` bits from bit `at` on. The offset counts
 * instructions; for ADDRESS, it lacks its lowest two bits. */
static const struct row {
    uint32_t mask, value;
    const char *name;
    enum form form;
    uint8_t at, bits;
    bool calls, moves;
} rows[] = {
    {0xfc000000, 0x14000000, "b", ALONE, 0, 26, false, true},
    {0xfc000000, 0x94000000, "bl", ALONE, 0, 26, true, true},
    {0xff000010, 0x54000000, "b.", CONDITION, 5, 19, false, false},
    {0xff000010, 0x54000010, "bc.", CONDITION, 5, 19, false, false},
    {0x7f000000, 0x34000000, "cbz", REGISTER, 5, 19, false, false},
    {0x7f000000, 0x35000000, "cbnz", REGISTER, 5, 19, false, false},
    {0x7f000000, 0x36000000, "tbz", BIT, 5, 14, false, false},
    {0x7f000000, 0x37000000, "tbnz", BIT, 5, 14, false, false},
    {0x3b000000, 0x18000000, NULL, ALONE, 5, 19, false, false}, /* loads of literals */
    {0x9f000000, 0x10000000, "adr", ADDRESS, 5, 19, false, false},
    {0x9f000000, 0x90000000, "adrp", ADDRESS, 5, 19, false, false},
};

static const struct row *find_instruction(uint32_t word) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((word & rows[i].mask) == rows[i].value)
            return &rows[i];
    return NULL;
}

static int64_t row_offset(const struct row *row, uint32_t word) {
    const unsigned above = 32u - row->at - row->bits;
    return (int32_t)(word << above) >> (32 - row->bits);
}

static uint64_t row_target(const struct row *row, uint32_t word, uint64_t address) {
    const uint64_t offset = (uint64_t)row_offset(row, word) << 2;
    const uint64_t whole = offset | (word >> 29 & 3); /* the lowest bits of an address */
    if (row->form != ADDRESS)
        return address + offset;
    return word >> 31 ? (address >> PAGE_SHIFT << PAGE_SHIFT) + (whole << PAGE_SHIFT)
                      : address + whole;
}

/* Returns whether a word may be an instruction. Of the sixteen groups (bits 28 to 25), two are
 * unallocated, and half of group 0. */
static bool is_allocated(uint32_t word) {
    const unsigned group = word >> 25 & 15;
    return group != 1 && group != 3 && (group || word >> 31);
}

bool disassemble_aarch64(const uint8_t *bytes, size_t size, uint64_t address,
                         struct instruction *instruction) {
    if (size < INSTRUCTION_BYTES)
        return false;
    const uint32_t word = (uint32_t)object_little(bytes, INSTRUCTION_BYTES);
    const struct row *row = find_instruction(word);
    *instruction = (struct instruction){.length = INSTRUCTION_BYTES};
    if (!row)
        return is_allocated(word);
    instruction->relative = true;
    instruction->target = row_target(row, word, address);
    instruction->calls = row->calls;
    instruction->moves = row->moves;
    return true;
}

/* --- Text --- */

/* Prints the operands before the offset: a condition, or registers. */
static void print_operands(const struct row *row, uint32_t word, char *text, size_t size) {
    static const char *const conditions[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                             "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};
    const char width = word >> 31 || row->form == ADDRESS ? 'x' : 'w';
    const unsigned number = word & 31;
    char name[4];
    snprintf(name, sizeof name, number < 31 ? "%c%u" : "%czr", width, number);
    if (row->form == CONDITION)
        snprintf(text, size, "%s", conditions[word & 15]);
    else if (row->form == BIT)
        snprintf(text, size, " %s, #%u,", name, (word >> 31 << 5) + (word >> 19 & 31));
    else if (row->form == REGISTER || row->form == ADDRESS)
        snprintf(text, size, " %s,", name);
}

void disassemble_aarch64_text(const uint8_t *bytes, size_t size, uint64_t address,
                              char text[INSTRUCTION_TEXT]) {
    struct instruction instruction;
    char operands[32] = "";
    if (!disassemble_aarch64(bytes, size, address, &instruction)) {
        snprintf(text, INSTRUCTION_TEXT, "(bad)");
        return;
    }
    const uint32_t word = (uint32_t)object_little(bytes, INSTRUCTION_BYTES);
    const struct row *row = find_instruction(word);
    if (row && row->name) {
        print_operands(row, word, operands, sizeof operands);
        snprintf(text, INSTRUCTION_TEXT, "%s%s 0x%" PRIx64, row->name, operands,
                 instruction.target);
    } else if (word == 0xd503201f) {
        snprintf(text, INSTRUCTION_TEXT, "nop");
    } else {
        snprintf(text, INSTRUCTION_TEXT, ".inst 0x%08" PRIx32, word);
    }
}
