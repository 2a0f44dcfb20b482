/* SPDX-License-Identifier: MIT */
/* Stubs on AArch64 (Arm ARM, C6.2), and how its linkers bind functions (ELF for the Arm 64-bit
 * Architecture, and its System V ABI). */
#include <carry/thunk.h>

#if CARRY_HAS_THUNKS
#include "hook/stub.h"

#include "xstate/aarch64/thunk.h"

_Static_assert(8 * (CALL_WORDS_END - CALL_LIBRARY) == CARRY_STUB_WORDS_SHIFT,
               "as the thunk reads it");

enum { GLOB_DAT = 1025, JUMP_SLOT = 1026 };
enum { INSTRUCTION_BYTES = 4 };

#define VARIANT_PCS 0x80 /* STO_AARCH64_VARIANT_PCS */

#define NOP         UINT32_C(0xd503201f)
#define BTI_C       UINT32_C(0xd503245f)
#define ADR_X16     UINT32_C(0x10000010)
#define LDR_X17_X16 UINT32_C(0xf9400211)
#define BR_X17      UINT32_C(0xd61f0220)
#define PUSH_BINDER UINT32_C(0xa9bf7bf0) /* stp x16, x30, [sp, #-16]! */
#define ADRP_X16    UINT32_C(0x90000010)
#define ADRP_MASK   UINT32_C(0x9f00001f)

static uint32_t instruction_at(const uint8_t *text, size_t index) {
    uint32_t instruction;
    __builtin_memcpy(&instruction, text + index * sizeof instruction, sizeof instruction);
    return instruction;
}

bool carry_stub_supported(void) {
    return true;
}

/*
 * Returns an ADR for a distance of less than 1 MiB. The two low bits of the distance have a field
 * of their own.
 */
static uint32_t adr_x16(uint32_t distance) {
    return ADR_X16 | (distance & 3) << 29 | (distance >> 2 & 0x7ffff) << 5;
}

/*
 * Writes a stub. x16 and x17 are free at any call, as PLTs and veneers use them. The landing pad of
 * C functions accepts BLR, and BR with x16 or x17.
 *
 *     bti     c
 *     adr     x16, distance               from the start of the stub
 *     ldr     x17, [x16, #thunk_offset]
 *     br      x17
 */
void carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset) {
    const uint32_t load = LDR_X17_X16 | (uint32_t)(thunk_offset / sizeof(uint64_t)) << 10;
    const uint32_t instructions[] = {BTI_C, adr_x16(distance - INSTRUCTION_BYTES), load, BR_X17};
    _Static_assert(sizeof instructions == CARRY_STUB_BYTES, "a stub");
    __builtin_memcpy(stub, instructions, sizeof instructions);
}

const void *carry_stub_thunk(bool around, bool whole) {
    if (whole)
        return around ? carry_thunk_around_whole : carry_thunk_enter_whole;
    return around ? carry_thunk_around : carry_thunk_enter;
}

bool carry_symbol_is_variant(uint8_t other) {
    return other & VARIANT_PCS;
}

enum carry_slot_kind carry_slot_kind(uint32_t relocation) {
    return relocation == JUMP_SLOT  ? CARRY_SLOT_PLT
           : relocation == GLOB_DAT ? CARRY_SLOT_OTHER
                                    : CARRY_SLOT_NONE;
}

bool carry_is_landing_pad(const uint8_t *text) {
    return instruction_at(text, 0) == BTI_C;
}

/* Checks for the start of a PLT, to which unbound slots point: [bti c], stp x16, x30, [sp, #-16]!,
 * adrp x16. */
bool carry_is_binder(const uint8_t *text, size_t index) {
    (void)index;
    if (carry_is_landing_pad(text))
        text += INSTRUCTION_BYTES;
    return instruction_at(text, 0) == PUSH_BINDER &&
           (instruction_at(text, 1) & ADRP_MASK) == ADRP_X16;
}

/* Returns the size of the first instruction, which becomes a branch. */
size_t carry_entry_bytes(void) {
    return INSTRUCTION_BYTES;
}

/* Returns the reach of a branch, 128 MiB, less 1 MiB for a whole block of stubs. */
uintptr_t carry_entry_reach(void) {
    return (uintptr_t)127 << 20;
}

unsigned carry_entry_nops(const uint8_t *text) {
    return instruction_at(text, 0) == NOP;
}

#else /* big-endian */
#include "hook/generic/stub.c"
#endif
