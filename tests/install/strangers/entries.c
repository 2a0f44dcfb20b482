/* SPDX-License-Identifier: MIT */
/* Hooks a function of the program itself, in static programs too. */
#include <carry/hook.h>
#include <carry/patch.h>

#include <string.h>

#include "../linkers/expect.h"

CARRY_HOOK_ENTRIES;

static void count(const struct carry_hook_place *place, struct carry_thunk_call *call, void *user) {
    (void)call;
    *(long *)user += !strcmp(place->object, "");
}

#ifdef __clang__
#define ALONE noinline
#else
#define ALONE noipa
#endif

__attribute__((ALONE, patchable_function_entry(5))) static int add(int a, int b) {
    __asm__ volatile("");
    return a + b;
}

int main(void) {
    long calls = 0;
    struct carry_hook hook = {.object = "", .enter = count, .user = &calls};
    EXPECT(carry_patch_apply(CARRY_PATCH_QUIET),
           CARRY_OK); /* musl does not report that there is only one thread */
    EXPECT(carry_hook_attach_entry(&hook, (void (*)(void))add), CARRY_OK);
    EXPECT(add(1, 2), 3);
    EXPECT(calls, 1);
    EXPECT(carry_hook_detach(&hook), CARRY_OK);
    EXPECT(add(1, 2), 3);
    EXPECT(calls, 1);
    EXPECT(carry_hook_attach_entries(&hook), CARRY_OK);
    EXPECT(add(1, 2), 3);
    EXPECT(calls, 2);
    EXPECT(carry_hook_detach(&hook), CARRY_OK);
    return result();
}
