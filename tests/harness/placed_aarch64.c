/* SPDX-License-Identifier: MIT */
/* What the sites of patch_sites_aarch64.S do. */
#include <string.h>

#include "harness/placed.h"

CARRY_OP(uint64_t, placed_call, uint64_t);
CARRY_OP(uint64_t, placed_jump, uint64_t);
CARRY_KEY(placed_unlikely);
CARRY_KEY(placed_likely);
CARRY_KEY(placed_word);
CARRY_KEY(placed_empty);

/* --- What the sites do --- */

static uint64_t add1(uint64_t number) {
    return number + 1;
}

static uint64_t add2(uint64_t number) {
    return number + 2;
}

static uint64_t add3(uint64_t number) {
    CARRY_BODY(add3, "add x0, x0, 3");
    return number + 3;
}

CARRY_OP_DEFINE(placed_call, add1);
CARRY_OP_DEFINE(placed_jump, add1);
CARRY_KEY_DEFINE(placed_unlikely, false);
CARRY_KEY_DEFINE(placed_likely, false);
CARRY_KEY_DEFINE(placed_word, false);
CARRY_KEY_DEFINE(placed_empty, false);

/* --- The list --- */

#define PLACED(name)                                                                               \
    extern const struct placed placed_##name[];                                                    \
    extern const size_t placed_##name##_count;
PLACED(call)
PLACED(jump)
PLACED(unlikely)
PLACED(likely)
PLACED(word)
PLACED(empty)

#define KIND(name, prefix, length, in_text, ...)                                                   \
    {                                                                                              \
#name, length, in_text, &carry_##prefix##_placed_##name, placed_##name,                    \
            placed_##name##_count,                                                                 \
            sizeof((struct placed_state[]){__VA_ARGS__}) / sizeof(struct placed_state), {          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct placed_kind *placed_kinds(void) {
    static struct placed_kind kinds[PLACED_KINDS];
    if (kinds[0].name)
        return kinds;
    placed_fn *far = placed_far(add1);
    const uintptr_t first = (uintptr_t)(far ? far : add1);
    const uint64_t number = PLACED_ARGUMENT;
    const struct placed_kind all[PLACED_KINDS] = {
        KIND(call, op, 4, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}, {(uintptr_t)add1, number + 1}),
        KIND(jump, op, 4, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}),
        KIND(unlikely, key, 4, false, {0, 0}, {1, 1}),
        KIND(likely, key, 4, false, {0, 1}, {1, 0}),
        KIND(word, key, 4, true, {0, 1}, {1, 2}),
        KIND(empty, key, 4, true, {0, 1}, {1, 0}),
    };
    memcpy(kinds, all, sizeof kinds);
    return kinds;
}
