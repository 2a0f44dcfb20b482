/* SPDX-License-Identifier: MIT */
/*
 * Hooks through any compiler and linker: values and exceptions through calls and entries.
 *
 * usage: hooks calls|static      static: a static program, which has no slots
 */
#include <carry/hook.h>
#include <carry/patch.h>
#include <carry/thunk.h>
#include <string.h>

#include "expect.h"
#include "hooked.h"

CARRY_HOOK_ENTRIES;

static int enters, leaves;

static void count_enter(const struct carry_hook_place *, struct carry_thunk_call *call, void *) {
    enters += call->integer[0] != 12345;
}

static void count_leave(const struct carry_hook_place *, struct carry_thunk_call *call, void *) {
    leaves += call->result[0] != 12345;
}

__attribute__((noinline, patchable_function_entry(5))) static int own_throw(int number) {
    if (number < 0)
        throw number;
    return number + 2;
}

struct Guard {
    int *count;
    explicit Guard(int *counter) : count(counter) {
    }
    ~Guard() {
        ++*count;
    }
};

static int destroyed;

/* Lets an exception pass through the frame of a hooked entry: the frame must destroy an object. */
__attribute__((noinline, patchable_function_entry(5))) static int own_pass(int number) {
    Guard guard(&destroyed);
    return hooked_throw(number) + 0;
}

static int caught(int (*function)(int)) {
    try {
        return function(-7);
    } catch (int number) {
        return number;
    }
}

static int by_call(int number) {
    return hooked_throw(number);
}

static int through_other(int number) {
    return hooked_apply(own_pass, number);
}

static void check_values(int expected_enters, int expected_leaves) {
    enters = leaves = destroyed = 0;
    EXPECT(by_call(1), 2);
    EXPECT(own_throw(1), 3);
    EXPECT(own_pass(1), 2);
    EXPECT(caught(by_call), -7);
    EXPECT(caught(own_throw), -7);
    EXPECT(caught(own_pass), -7);
    EXPECT(caught(through_other), -7);
    EXPECT(destroyed, 3);
    EXPECT(enters, expected_enters);
    EXPECT(leaves, expected_leaves);
}

int main(int, char **words) {
    const bool has_slots = !strcmp(words[1], "calls");
    struct carry_hook calls = {}, entries = {};
    calls.object = "";
    calls.symbol = "_Z12hooked_throwi";
    EXPECT(carry_patch_apply(0), CARRY_OK);
    for (int with_leave = 0; with_leave < 2; with_leave++) {
        calls.enter = entries.enter = count_enter;
        calls.leave = entries.leave = with_leave ? count_leave : nullptr;
        check_values(0, 0);
        EXPECT(carry_hook_attach_entries(&entries), CARRY_OK);
        EXPECT(entries.attached, 2);
        check_values(5, with_leave * 2);
        EXPECT(carry_hook_attach_calls(&calls), has_slots ? CARRY_OK : CARRY_ERROR_UNKNOWN);
        EXPECT(calls.attached, has_slots);
        check_values(has_slots ? 10 : 5, with_leave * (has_slots ? 4 : 2));
        EXPECT(carry_hook_detach(&entries), CARRY_OK);
        EXPECT(carry_hook_detach(&calls), CARRY_OK);
        check_values(0, 0);
    }
    return result();
}
