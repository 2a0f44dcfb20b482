/* SPDX-License-Identifier: MIT */
/* Checks that the fields of <carry/thunk.h> have the offsets that assembly uses. Include
 * xstate/<arch>/thunk.h before this file. */
#ifndef CARRY_XSTATE_THUNK_LAYOUT_H
#define CARRY_XSTATE_THUNK_LAYOUT_H

#include <carry/thunk.h>

#define CARRY_THUNK_AT(field, offset)                                                              \
    _Static_assert(offsetof(struct carry_thunk, field) == (offset), #field)
CARRY_THUNK_AT(enter, THUNK_ENTER);
CARRY_THUNK_AT(leave, THUNK_LEAVE);
CARRY_THUNK_AT(target, THUNK_TARGET);
CARRY_THUNK_AT(stack_words, THUNK_STACK_WORDS);

#define CARRY_CALL_AT(field, offset)                                                               \
    _Static_assert(offsetof(struct carry_thunk_call, field) == (offset), #field)
CARRY_CALL_AT(integer, CALL_INTEGER);
CARRY_CALL_AT(result, CALL_RESULT);
CARRY_CALL_AT(stack, CALL_STACK);
CARRY_CALL_AT(return_address, CALL_RETURN);
CARRY_CALL_AT(vectors, CALL_VECTORS);
CARRY_CALL_AT(vector_size, CALL_VECTOR_SIZE);
CARRY_CALL_AT(word, CALL_WORD);
CARRY_CALL_AT(library, CALL_LIBRARY);
_Static_assert(sizeof(struct carry_thunk_call) == CALL_BYTES, "what follows is the thunk's own");

#endif
