/* SPDX-License-Identifier: MIT */
/* What the thunks have to know of this CPU: a word, as assembly cannot ask. */
#include <carry/thunk.h>

#if CARRY_HAS_THUNKS
#include "base/host.h"
#include "xstate/aarch64/thunk.h"

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
uint32_t carry_thunk_detect(void) {
    static const struct {
        enum carry_host_hwcap word;
        uint8_t bit; /* arm64, uapi/asm/hwcap.h */
        uint8_t machine;
    } rows[] = {
        {CARRY_HOST_HWCAP, 22, MACHINE_SVE},
        {CARRY_HOST_HWCAP2, 23, MACHINE_SME},
        {CARRY_HOST_HWCAP2, 17, MACHINE_BTI},
    };
    uint32_t machine = 1 << MACHINE_KNOWN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        machine |= (uint32_t)(carry_host_hwcap(rows[i].word) >> rows[i].bit & 1) << rows[i].machine;
    return machine;
}

int carry_thunk_prepare(void) {
    __atomic_store_n(&carry_thunk_machine, carry_thunk_detect(), __ATOMIC_RELEASE);
    return CARRY_OK;
}

#else /* big-endian */
#include "xstate/generic/thunk.c"
#endif
