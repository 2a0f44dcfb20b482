/* SPDX-License-Identifier: MIT */
/* Tests that all functions for hooks report that hooks are unsupported here, and change nothing. */
#include <carry/hook.h>
#include <carry/thunk.h>

#include "harness/tap.h"

CARRY_HOOK_ENTRIES;

static void never(const struct carry_hook_place *place, struct carry_thunk_call *call, void *user) {
    (void)place, (void)call, (void)user;
    tap_ok(false, "no callback is called");
}

static bool fail_on_place(const struct carry_hook_place *place, void *user) {
    (void)place, (void)user;
    return tap_ok(false, "no place is listed");
}

int main(void) {
    static const uintptr_t entry[1];
    struct carry_hook hook = {.enter = never, .leave = never};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_ERROR_UNSUPPORTED), "calls");
    tap_ok(TAP_EQ(carry_hook_attach_entries(&hook), CARRY_ERROR_UNSUPPORTED), "entries");
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, (void (*)(void))main), CARRY_ERROR_UNSUPPORTED),
           "a hook of an entry is unsupported");
    tap_ok(TAP_EQ(carry_hook_places(fail_on_place, NULL), CARRY_ERROR_UNSUPPORTED),
           "a list of places is unsupported");
    tap_ok(TAP_EQ(carry_hook_register(entry, entry + 1), CARRY_ERROR_UNSUPPORTED), "registration");
    carry_hook_unregister(entry);
    tap_ok(TAP_EQ(hook.attached, 0) && TAP_TRUE(!hook.points) &&
               TAP_EQ(carry_hook_detach(&hook), CARRY_OK),
           "there is nothing to undo");
    return tap_done();
}
