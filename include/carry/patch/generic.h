/* SPDX-License-Identifier: MIT */
/*
 * No sites: operations are calls through a pointer, keys are flags, alternatives are the default.
 * This file is a part of <carry/patch.h>, which includes it.
 */
#ifndef CARRY_PATCH_GENERIC_H
#define CARRY_PATCH_GENERIC_H

#include <carry/patch.h>

#define carry_call(name) (*carry_get_##name())

#define CARRY_OP_CALL(count, result, name, parameters) CARRY_DECLARED

#define CARRY_KEY_BRANCHES(name)                                                                   \
    CARRY_INLINE bool carry_unlikely_##name(void) {                                                \
        return __atomic_load_n(&carry_key_##name.value, __ATOMIC_ACQUIRE) != 0;                    \
    }                                                                                              \
    CARRY_INLINE bool carry_likely_##name(void) {                                                  \
        return carry_unlikely_##name();                                                            \
    }

#define CARRY_ALT(original, feature, replacement)     CARRY_ALT_KNOWN(#feature) original "\n"
#define CARRY_ALT_KEY(original, key, replacement)     CARRY_ALT_SYMBOL(#key) original "\n"
#define CARRY_ALT_ONE(original, feature, replacement) CARRY_ALT_KNOWN(#feature) original "\n"
#define CARRY_ALT_KEY_ONE(original, key, replacement) CARRY_ALT_SYMBOL(#key) original "\n"

/* Accepts the names of features of all architectures. The input is required, but not used. */
#define CARRY_ALT_ROW(arch, name, ...) ", " #name
#define CARRY_ALT_INPUT(key)           [CARRY_ALT_INPUT_##key] "i"(sizeof carry_key_##key)
#define CARRY_ALT_SYMBOL(key)          ".if %c[CARRY_ALT_INPUT_" key "]\n\t.endif\n\t"

#define CARRY_BODY(function, instruction)          CARRY_BODY_ASSERT(function)
#define CARRY_BODY_RELATIVE(function, instruction) CARRY_BODY_ASSERT(function)
#define CARRY_BODY_SEVERAL(function, instructions) CARRY_BODY_ASSERT(function)

#endif
