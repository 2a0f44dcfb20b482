/* SPDX-License-Identifier: MIT */
/* Decodes instruction formats: Intel SDM vol. 2A, chapter 2. */
#include "harness/decode_x86_64.h"

#include <string.h>

/* Registers by their numbers in instructions. */
static const int numbers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};

/* The bits of a REX prefix; VEX and EVEX contain them inverted. */
enum { REX_B = 1, REX_X = 2, REX_R = 4 };

struct reader {
    const uint8_t *at;
    const greg_t *registers;
    unsigned rex;
};

static uintptr_t general_register(const struct reader *reader, unsigned number,
                                  unsigned extension) {
    return (uintptr_t)reader->registers[numbers[number | (reader->rex & extension ? 8 : 0)]];
}

static intptr_t read_displacement(struct reader *reader, unsigned size) {
    int32_t value = 0;
    memcpy(&value, reader->at, size);
    reader->at += size;
    return size == 1 ? (int8_t)value : value;
}

static uintptr_t indexed_address(struct reader *reader, unsigned mode) {
    const uint8_t sib = *reader->at++;
    const unsigned base = sib & 7, index = sib >> 3 & 7;
    uintptr_t address = 0;
    if (index != 4 || reader->rex & REX_X)
        address = general_register(reader, index, REX_X) << (sib >> 6);
    if (base == 5 && mode == 0)
        return address + (uintptr_t)read_displacement(reader, 4);
    return address + general_register(reader, base, REX_B);
}

static uintptr_t memory_address(struct reader *reader, unsigned mode, unsigned rm) {
    uintptr_t address;
    if (mode == 0 && rm == 5) {
        const intptr_t offset = read_displacement(reader, 4);
        return (uintptr_t)reader->at + (uintptr_t)offset;
    }
    address = rm == 4 ? indexed_address(reader, mode) : general_register(reader, rm, REX_B);
    if (mode)
        address += (uintptr_t)read_displacement(reader, mode == 1 ? 1 : 4);
    return address;
}

static void read_modrm(struct reader *reader, struct instruction *found) {
    const uint8_t modrm = *reader->at++;
    found->digit = modrm >> 3 & 7;
    found->reg |= found->digit | (reader->rex & REX_R ? 8 : 0);
    found->is_memory = modrm < 0xc0;
    if (found->is_memory)
        found->address = memory_address(reader, modrm >> 6, modrm & 7);
}

static uint8_t prefix_of(unsigned pp) {
    static const uint8_t prefixes[4] = {NP, P66, PF3, PF2};
    return prefixes[pp & 3];
}

static void read_vex(struct reader *reader, struct instruction *found) {
    const uint8_t first = *reader->at++, second = reader->at[0];
    found->encoding = VEX;
    reader->rex = ~reader->at[0] >> 5 & REX_R;
    found->map = 1;
    if (first == 0xc4) {
        reader->rex = ~second >> 5 & (REX_R | REX_X | REX_B);
        found->map = second & 3;
        reader->at++;
    }
    found->length = *reader->at >> 2 & 1;
    found->prefix = prefix_of(*reader->at++);
}

static void read_evex(struct reader *reader, struct instruction *found) {
    const uint8_t *bytes = reader->at + 1;
    found->encoding = EVEX;
    reader->rex = ~bytes[0] >> 5 & (REX_R | REX_X | REX_B);
    found->reg = bytes[0] & 0x10 ? 0 : 16;
    found->map = bytes[0] & 3;
    found->prefix = prefix_of(bytes[1]);
    found->length = bytes[2] >> 5 & 3;
    reader->at += 4;
}

static bool is_plain_prefix(uint8_t byte) {
    return byte && memchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x67\xf0", byte, 11);
}

static void read_legacy(struct reader *reader, struct instruction *found) {
    found->prefix = NP;
    for (; is_plain_prefix(*reader->at); reader->at++) {
        if (*reader->at == 0xf3 || *reader->at == 0xf2)
            found->prefix = *reader->at == 0xf3 ? PF3 : PF2;
        else if (*reader->at == 0x66 && found->prefix == NP)
            found->prefix = P66;
    }
    if ((*reader->at & 0xf0) == 0x40)
        reader->rex = *reader->at++;
    if (*reader->at != 0x0f)
        return;
    reader->at++;
    found->map = *reader->at == 0x38 ? 2 : *reader->at == 0x3a ? 3 : 1;
    reader->at += found->map > 1;
}

static bool has_modrm(const struct instruction *found) {
    if (found->encoding == LEGACY && found->map == 0)
        return found->opcode >= 0xd8 && found->opcode <= 0xdf;
    return found->map != 1 || (found->opcode != 0x77 && found->opcode != 0xa2);
}

struct instruction decode(const greg_t *registers) {
    struct reader reader = {.at = (const uint8_t *)registers[REG_RIP], .registers = registers};
    struct instruction found = {.encoding = LEGACY};
    if (*reader.at == 0xc4 || *reader.at == 0xc5)
        read_vex(&reader, &found);
    else if (*reader.at == 0x62)
        read_evex(&reader, &found);
    else
        read_legacy(&reader, &found);
    found.opcode = *reader.at++;
    if (has_modrm(&found))
        read_modrm(&reader, &found);
    found.end = reader.at;
    return found;
}
