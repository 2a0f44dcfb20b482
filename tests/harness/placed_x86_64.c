/* SPDX-License-Identifier: MIT */
/* What the sites of patch_sites_x86_64.S do. */
#include <string.h>

#include "harness/placed.h"

CARRY_OP(uint64_t, placed_call, uint64_t);
CARRY_OP(uint64_t, placed_jump, uint64_t);
CARRY_KEY(placed_unlikely);
CARRY_KEY(placed_likely);
CARRY_KEY(placed_bytes1);
CARRY_KEY(placed_bytes2);
CARRY_KEY(placed_bytes4);
CARRY_KEY(placed_bytes5);
CARRY_KEY(placed_bytes10);
CARRY_KEY(placed_empty10);

/* --- What the sites do --- */

static uint64_t add1(uint64_t number) {
    return number + 1;
}

static uint64_t add2(uint64_t number) {
    return number + 2;
}

static uint64_t add3(uint64_t number) {
    CARRY_BODY(add3, "leaq 3(%%rdi), %%rax");
    return number + 3;
}

static uint32_t placed_number __attribute__((used)) = 4444;

static uint64_t get_number(uint64_t number) {
    CARRY_BODY_RELATIVE(get_number, "movl placed_number(%%rip), %%eax");
    (void)number;
    return placed_number;
}

CARRY_OP_DEFINE(placed_call, add1);
CARRY_OP_DEFINE(placed_jump, add1);
CARRY_KEY_DEFINE(placed_unlikely, false);
CARRY_KEY_DEFINE(placed_likely, false);
CARRY_KEY_DEFINE(placed_bytes1, false);
CARRY_KEY_DEFINE(placed_bytes2, false);
CARRY_KEY_DEFINE(placed_bytes4, false);
CARRY_KEY_DEFINE(placed_bytes5, false);
CARRY_KEY_DEFINE(placed_bytes10, false);
CARRY_KEY_DEFINE(placed_empty10, false);

/* --- The list --- */

#define PLACED(name)                                                                               \
    extern const struct placed placed_##name[];                                                    \
    extern const size_t placed_##name##_count;
PLACED(call)
PLACED(jump)
PLACED(unlikely)
PLACED(likely)
PLACED(bytes1)
PLACED(bytes2)
PLACED(bytes4)
PLACED(bytes5)
PLACED(bytes10)
PLACED(empty10)

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
        KIND(call, op, 6, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}, {(uintptr_t)get_number, 4444},
             {(uintptr_t)carry_patch_nothing, 0}, {(uintptr_t)add1, number + 1}),
        KIND(jump, op, 6, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}),
        KIND(unlikely, key, 5, false, {0, 0}, {1, 1}),
        KIND(likely, key, 5, false, {0, 1}, {1, 0}),
        KIND(bytes1, key, 1, true, {0, 0}, {1, 1}),
        KIND(bytes2, key, 2, true, {0, 0}, {1, UINT32_MAX}),
        KIND(bytes4, key, 4, true, {0, 1}, {1, 2}),
        KIND(bytes5, key, 5, true, {0, 1}, {1, 2}),
        KIND(bytes10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 2}),
        KIND(empty10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 0}),
    };
    memcpy(kinds, all, sizeof kinds);
    return kinds;
}
