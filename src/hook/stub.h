/* SPDX-License-Identifier: MIT */
/* What of hooks depends on the architecture. */
#ifndef CARRY_HOOK_STUB_H
#define CARRY_HOOK_STUB_H

#include <carry/base.h>

/* Can calls be hooked here? */
bool carry_stub_supported(void);

/*
 * A stub leads to a thunk, which learns by the address of its descriptor what was called. The
 * return address stays where the call has put it.
 */
#define CARRY_STUB_BYTES 16

/*
 * Writes a stub for a descriptor that is `distance` bytes behind the stub, and holds the address of
 * its thunk `thunk_offset` bytes from its start.
 */
void carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);

/*
 * From this bit of a call's `library` on, `enter` leaves a limit to the thunk: 1 and how many words
 * of arguments on the stack it may copy at most; 0 if there is no limit.
 */
#define CARRY_STUB_WORDS_SHIFT 32

/*
 * The thunk that calls back after the function too, or before it alone. `whole`: for functions
 * whose calls may pass or keep other registers than those of most, and for what follows an entry's
 * NOPs.
 */
const void *carry_stub_thunk(bool around, bool whole);

/* May calls of a symbol pass or keep other registers? By the `st_other` of its table. */
bool carry_symbol_is_variant(uint8_t other);

/* The relocations that make a slot the address of a function. */
enum carry_slot_kind { CARRY_SLOT_NONE, CARRY_SLOT_PLT, CARRY_SLOT_OTHER };
enum carry_slot_kind carry_slot_kind(uint32_t relocation);

/* Are these the instructions of a PLT that have the dynamic linker bind relocation `index`? */
#define CARRY_BINDER_BYTES 12
bool carry_is_binder(const uint8_t *text, size_t index);

/* How many bytes at a patchable entry become a jump, and how far that reaches. */
size_t carry_entry_bytes(void);
uintptr_t carry_entry_reach(void);

/* If these bytes are the NOPs of a compiler, how many instructions they are; else 0. */
unsigned carry_entry_nops(const uint8_t *text);

/* How many bytes a landing pad for indirect branches takes at the start of a function, if any. */
#define CARRY_LANDING_BYTES 4
bool carry_is_landing_pad(const uint8_t *text);

#endif
