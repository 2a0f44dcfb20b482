/* SPDX-License-Identifier: MIT */
/* Stubs on x86-64 (Intel SDM vol. 2), and how its linkers bind functions (System V ABI, AMD64). */
#include "hook/stub.h"

#include <carry/thunk.h>

#include "xstate/x86_64/thunk.h"

_Static_assert(8 * (CALL_WORDS_END - CALL_LIBRARY) == CARRY_STUB_WORDS_SHIFT,
               "as the thunk reads it");

enum { GLOB_DAT = 6, JUMP_SLOT = 7 };
enum { ENTRY_BYTES = 5 };

static const uint8_t endbr64[CARRY_LANDING_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

bool carry_stub_supported(void) {
    return true;
}

/*
 * Writes a stub. Callers arrive by an indirect branch. r11 holds no argument, and is free at any
 * call, as PLTs use it.
 *
 *     endbr64
 *     lea     distance(%rip), %r11        from the start of the stub
 *     jmp     *thunk_offset(%r11)
 */
void carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset) {
    enum { LEA_END = 11 };
    uint32_t from_next = distance - LEA_END;
    __builtin_memset(stub, 0xcc, CARRY_STUB_BYTES);
    __builtin_memcpy(stub, endbr64, sizeof endbr64);
    __builtin_memcpy(stub + 4, "\x4c\x8d\x1d", 3);
    __builtin_memcpy(stub + 7, &from_next, sizeof from_next);
    __builtin_memcpy(stub + LEA_END, "\x41\xff\x63", 3);
    stub[LEA_END + 3] = thunk_offset;
}

/* Returns the thunk. Ignores `whole`, because every thunk preserves all registers that any function
 * takes, and can jump to code without a landing pad. */
const void *carry_stub_thunk(bool around, bool whole) {
    (void)whole;
    return around ? carry_thunk_around : carry_thunk_enter;
}

bool carry_symbol_is_variant(uint8_t other) {
    (void)other;
    return false;
}

enum carry_slot_kind carry_slot_kind(uint32_t relocation) {
    return relocation == JUMP_SLOT  ? CARRY_SLOT_PLT
           : relocation == GLOB_DAT ? CARRY_SLOT_OTHER
                                    : CARRY_SLOT_NONE;
}

bool carry_is_landing_pad(const uint8_t *text) {
    return !__builtin_memcmp(text, endbr64, sizeof endbr64);
}

/* Checks whether `text` is [endbr64], push $index. */
bool carry_is_binder(const uint8_t *text, size_t index) {
    uint32_t pushed;
    if (carry_is_landing_pad(text))
        text += sizeof endbr64;
    __builtin_memcpy(&pushed, text + 1, sizeof pushed);
    return text[0] == 0x68 && pushed == index;
}

size_t carry_entry_bytes(void) {
    return ENTRY_BYTES;
}

/* Returns half of the 2 GiB that jumps and records of sites reach: objects may need the rest. */
uintptr_t carry_entry_reach(void) {
    return (uintptr_t)1 << 30;
}

unsigned carry_entry_nops(const uint8_t *text) {
    static const uint8_t gcc[ENTRY_BYTES] = {0x90, 0x90, 0x90, 0x90, 0x90};
    static const uint8_t clang[ENTRY_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x08};
    if (!__builtin_memcmp(text, gcc, sizeof gcc))
        return sizeof gcc;
    return !__builtin_memcmp(text, clang, sizeof clang);
}
