/* SPDX-License-Identifier: MIT */
/*
 * No sites: operations are calls through a pointer, keys are flags, alternatives are their default.
 * Part of <carry/patch.h>, which includes it; see there.
 */
#ifndef CARRY_PATCH_GENERIC_H
#define CARRY_PATCH_GENERIC_H

#include <carry/patch.h>

#define carry_call(name) (*carry_get_##name())

#define CARRY_OP_0(result, name)                CARRY_OP_DECLARE(result, name, (void))
#define CARRY_OP_1(result, name, A)             CARRY_OP_DECLARE(result, name, (A))
#define CARRY_OP_2(result, name, A, B)          CARRY_OP_DECLARE(result, name, (A, B))
#define CARRY_OP_3(result, name, A, B, C)       CARRY_OP_DECLARE(result, name, (A, B, C))
#define CARRY_OP_4(result, name, A, B, C, D)    CARRY_OP_DECLARE(result, name, (A, B, C, D))
#define CARRY_OP_5(result, name, A, B, C, D, E) CARRY_OP_DECLARE(result, name, (A, B, C, D, E))
#define CARRY_OP_6(result, name, A, B, C, D, E, F)                                                 \
    CARRY_OP_DECLARE(result, name, (A, B, C, D, E, F))

#define CARRY_OP_DECLARE(result, name, types)                                                      \
    CARRY_OP_TYPED(result, name, types)                                                            \
    struct carry_key

#define CARRY_KEY_BRANCHES(name)                                                                   \
    CARRY_INLINE bool carry_unlikely_##name(void) {                                                \
        return __atomic_load_n(&carry_key_##name.value, __ATOMIC_ACQUIRE) != 0;                    \
    }                                                                                              \
    CARRY_INLINE bool carry_likely_##name(void) {                                                  \
        return carry_unlikely_##name();                                                            \
    }

#define CARRY_ALT(original, feature, replacement)     original "\n"
#define CARRY_ALT_KEY(original, key, replacement)     original "\n"
#define CARRY_ALT_ONE(original, feature, replacement) original "\n"
#define CARRY_ALT_KEY_ONE(original, key, replacement) original "\n"

#define CARRY_BODY(function, instruction)          ((void)0)
#define CARRY_BODY_RELATIVE(function, instruction) ((void)0)
#define CARRY_BODY_SEVERAL(function, instructions) ((void)0)

#endif
