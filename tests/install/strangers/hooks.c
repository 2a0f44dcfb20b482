/* SPDX-License-Identifier: MIT */
/* Hooks the program's own calls, as described in docs/hook.md: with glibc and musl. */
#include <carry/hook.h>
#include <carry/thunk.h>

#include <stdlib.h>
#include <string.h>

#include "../linkers/expect.h"

static void count(const struct carry_hook_place *place, struct carry_thunk_call *call, void *user) {
    (void)place, (void)call;
    ++*(long *)user;
}

static bool note_own(const struct carry_hook_place *place, void *user) {
    *(long *)user += !*place->object && !strcmp(place->symbol, "malloc");
    return true;
}

static void allocate(void) {
    void *volatile memory = malloc(100);
    free(memory);
}

/* Passes seven numbers, four of them on the stack. */
static bool prints(void) {
    char text[100];
    snprintf(text, sizeof text, "%d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7);
    return !strcmp(text, "1 2 3 4 5 6 7");
}

int main(void) {
    long calls = 0, own = 0, after = 0;
    struct carry_hook hook = {.object = "", .symbol = "malloc", .enter = count, .user = &calls};
    struct carry_hook around = {.object = "", .symbol = "snprintf", .leave = count, .user = &after};
    EXPECT(carry_hook_places(note_own, &own), CARRY_OK);
    EXPECT(own, 1);
    EXPECT(carry_hook_attach_calls(&hook), CARRY_OK);
    allocate();
    EXPECT(carry_hook_detach(&hook), CARRY_OK);
    allocate();
    EXPECT(calls, 1);
    EXPECT(carry_hook_attach_calls(&around), CARRY_OK);
    EXPECT(prints(), true);
    EXPECT(carry_hook_detach(&around), CARRY_OK);
    EXPECT(after, 1);
    return result();
}
