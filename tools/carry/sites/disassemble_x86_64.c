/* SPDX-License-Identifier: MIT */
/* Disassembles instructions of x86-64 with Zydis. */
#include "sites/disassemble.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

static const ZydisDecoder *get_decoder(void) {
    static ZydisDecoder the_decoder;
    static bool ready;
    if (!ready)
        ready = ZYAN_SUCCESS(
            ZydisDecoderInit(&the_decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    return &the_decoder;
}

static const ZydisFormatter *get_formatter(void) {
    static const ZydisFormatterProperty unpadded[] = {
        ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
        ZYDIS_FORMATTER_PROP_DISP_PADDING,
        ZYDIS_FORMATTER_PROP_IMM_PADDING,
    };
    static ZydisFormatter the_formatter;
    static bool ready;
    if (ready)
        return &the_formatter;
    ZydisFormatterInit(&the_formatter, ZYDIS_FORMATTER_STYLE_ATT);
    for (size_t i = 0; i < sizeof unpadded / sizeof *unpadded; i++)
        ZydisFormatterSetProperty(&the_formatter, unpadded[i], ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&the_formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&the_formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL,
                              ZYAN_TRUE);
    ready = true;
    return &the_formatter;
}

static bool decode_instruction(const uint8_t *bytes, size_t size, ZydisDecodedInstruction *decoded,
                               ZydisDecodedOperand *operands) {
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(get_decoder(), bytes, size, decoded, operands));
}

static bool ends_in_relative(const ZydisDecodedInstruction *decoded) {
    unsigned displacement = decoded->raw.disp.size == 32 ? decoded->raw.disp.offset : 0;
    unsigned immediate = decoded->raw.imm[0].is_relative && decoded->raw.imm[0].size == 32
                             ? decoded->raw.imm[0].offset
                             : 0;
    return (displacement && displacement + 4u == decoded->length) ||
           (immediate && immediate + 4u == decoded->length);
}

bool disassemble_x86_64(const uint8_t *bytes, size_t size, uint64_t address,
                        struct instruction *instruction) {
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!decode_instruction(bytes, size, &decoded, operands))
        return false;
    *instruction = (struct instruction){
        .length = decoded.length,
        .relative = decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE,
        .ends_in_relative =
            decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE && ends_in_relative(&decoded),
        .calls = decoded.meta.category == ZYDIS_CATEGORY_CALL,
        .moves = bytes[0] == 0xe8 || bytes[0] == 0xe9,
    };
    for (size_t i = 0; instruction->relative && i < decoded.operand_count; i++)
        if (ZYAN_SUCCESS(
                ZydisCalcAbsoluteAddress(&decoded, &operands[i], address, &instruction->target)))
            break;
    return true;
}

/* Adds the star that Zydis 4 omits in some indirect calls and jumps. */
static void add_star(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
                     char text[INSTRUCTION_TEXT]) {
    bool branches = decoded->meta.category == ZYDIS_CATEGORY_CALL ||
                    decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    char *operand = strrchr(text, ' ');
    if (!branches || !decoded->operand_count_visible || !operand || strchr(text, '*') ||
        operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE || strlen(text) + 2 > INSTRUCTION_TEXT)
        return;
    memmove(operand + 2, operand + 1, strlen(operand));
    operand[1] = '*';
}

void disassemble_x86_64_text(const uint8_t *bytes, size_t size, uint64_t address,
                             char text[INSTRUCTION_TEXT]) {
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (decode_instruction(bytes, size, &decoded, operands) &&
        ZYAN_SUCCESS(ZydisFormatterFormatInstruction(get_formatter(), &decoded, operands,
                                                     decoded.operand_count_visible, text,
                                                     INSTRUCTION_TEXT, address, NULL)))
        add_star(&decoded, operands, text);
    else
        snprintf(text, INSTRUCTION_TEXT, "(bad)");
    if (strncmp(text, "nop ", 4) == 0)
        text[3] = '\0';
}
