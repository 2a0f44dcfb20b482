/* SPDX-License-Identifier: MIT */
/* The parts of hooks that depend on the architecture. */
#ifndef CARRY_HOOK_STUB_H
#define CARRY_HOOK_STUB_H

#include <carry/base.h>

/* Returns whether calls can be hooked here. */
bool carry_stub_supported(void);

/*
 * The size of a stub. A stub jumps to a thunk and passes the address of a descriptor, which
 * identifies the called function. The return address remains where the call stored it.
 */
#define CARRY_STUB_BYTES 16

/*
 * Writes a stub for a descriptor that begins `distance` bytes after the start of the stub. The
 * address of the thunk is `thunk_offset` bytes from the start of the descriptor.
 */
void carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);

/*
 * From this bit on, a call's `library` holds a limit that `enter` sets for the thunk: 1 plus the
 * number of words of stack arguments that the thunk may copy, or 0 for no limit.
 */
#define CARRY_STUB_WORDS_SHIFT 32

/*
 * Returns the thunk that calls back before and after the function, or, without `around`, only
 * before. `whole`: for functions whose calls may pass or preserve other registers than most, and
 * for the code after the NOPs of an entry.
 */
const void *carry_stub_thunk(bool around, bool whole);

/* Checks, by `st_other` of a symbol, whether its calls may pass or preserve other registers. */
bool carry_symbol_is_variant(uint8_t other);

/* Classifies relocations that store the address of a function in a slot. */
enum carry_slot_kind { CARRY_SLOT_NONE, CARRY_SLOT_PLT, CARRY_SLOT_OTHER };
enum carry_slot_kind carry_slot_kind(uint32_t relocation);

/* Checks for the instructions of a PLT that ask the dynamic linker to bind relocation `index`. */
#define CARRY_BINDER_BYTES 12
bool carry_is_binder(const uint8_t *text, size_t index);

/* Return how many bytes of a patchable entry become a jump, and how far this jump reaches. */
size_t carry_entry_bytes(void);
uintptr_t carry_entry_reach(void);

/* Returns how many NOP instructions a compiler emitted at `text`; 0 if it emitted none. */
unsigned carry_entry_nops(const uint8_t *text);

/* Checks whether `text` begins with a landing pad for indirect branches. */
#define CARRY_LANDING_BYTES 4
bool carry_is_landing_pad(const uint8_t *text);

#endif
