/* SPDX-License-Identifier: MIT */
/* An architecture without stubs: no hook can be attached, so the other functions are not called. */
#include "hook/stub.h"

bool carry_stub_supported(void) {
    return false;
}

void carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset) {
    (void)stub;
    (void)distance;
    (void)thunk_offset;
}

const void *carry_stub_thunk(bool around, bool whole) {
    (void)around;
    (void)whole;
    return NULL;
}

bool carry_symbol_is_variant(uint8_t other) {
    (void)other;
    return false;
}

enum carry_slot_kind carry_slot_kind(uint32_t relocation) {
    (void)relocation;
    return CARRY_SLOT_NONE;
}

bool carry_is_binder(const uint8_t *text, size_t index) {
    (void)text;
    (void)index;
    return false;
}

size_t carry_entry_bytes(void) {
    return 0;
}

uintptr_t carry_entry_reach(void) {
    return 0;
}

unsigned carry_entry_nops(const uint8_t *text) {
    (void)text;
    return 0;
}

bool carry_is_landing_pad(const uint8_t *text) {
    (void)text;
    return false;
}
