/* SPDX-License-Identifier: MIT */
/* What the thunks have to know of this CPU: a word, as assembly cannot ask. */
#include "xstate/aarch64/thunk.h"

#include <carry/thunk.h>

#include "base/host.h"

#define THUNK_AT(field, offset)                                                                    \
    _Static_assert(offsetof(struct carry_thunk, field) == (offset), #field)
THUNK_AT(enter, THUNK_ENTER);
THUNK_AT(leave, THUNK_LEAVE);
THUNK_AT(target, THUNK_TARGET);
THUNK_AT(stack_words, THUNK_STACK_WORDS);

#define CALL_AT(field, offset)                                                                     \
    _Static_assert(offsetof(struct carry_thunk_call, field) == (offset), #field)
CALL_AT(integer, CALL_INTEGER);
CALL_AT(result, CALL_RESULT);
CALL_AT(stack, CALL_STACK);
CALL_AT(return_address, CALL_RETURN);
CALL_AT(vectors, CALL_VECTORS);
CALL_AT(vector_size, CALL_VECTOR_SIZE);
CALL_AT(word, CALL_WORD);
CALL_AT(library, CALL_LIBRARY);
_Static_assert(sizeof(struct carry_thunk_call) == CALL_BYTES, "what follows is the thunk's own");

uint32_t carry_thunk_machine;

/* The machine's, whatever features are masked: a mask changes no register, and no landing pad. */
int carry_thunk_prepare(void) {
    static const struct {
        uint32_t extension;
        uint32_t machine;
    } rows[] = {
        {CARRY_HOST_SVE, 1 << MACHINE_SVE},
        {CARRY_HOST_SME, 1 << MACHINE_SME},
        {CARRY_HOST_BTI, 1 << MACHINE_BTI},
    };
    const uint32_t extensions = carry_host_extensions();
    uint32_t machine = 1 << MACHINE_KNOWN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (extensions & rows[i].extension)
            machine |= rows[i].machine;
    __atomic_store_n(&carry_thunk_machine, machine, __ATOMIC_RELEASE);
    return CARRY_OK;
}
