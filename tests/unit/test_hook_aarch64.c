/* SPDX-License-Identifier: MIT */
/*
 * Tests hooks on AArch64 of functions that do not follow the base procedure call standard: callees
 * whose symbols are marked as such, and all entries, which may belong to any function.
 */
#include <carry/hook.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include "harness/check_thunk_aarch64.h"
#include "harness/tap.h"
#include "mutants/hook_aarch64.h"
#include "xstate/aarch64/thunk.h"

CARRY_HOOK_ENTRIES;

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#define GUARDED_BYTES 65536 /* of whole_entry() and its padding */

static uint64_t vector_size;

static void note_enter(const struct carry_hook_place *place, struct carry_thunk_call *call,
                       void *user) {
    (void)place, (void)user;
    vector_size = call->vector_size;
    check_thunk_note_enter(call);
}

static void note_leave(const struct carry_hook_place *place, struct carry_thunk_call *call,
                       void *user) {
    (void)place, (void)user;
    check_thunk_note_leave(call);
}

/* --- Calls --- */

static void *module;

static void test_variant(bool leaves) {
    const void *function = dlsym(module, "call_variant");
    struct carry_hook hook = {
        .symbol = "whole_target", .enter = note_enter, .leave = leaves ? note_leave : NULL};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(hook.attached, 1),
           "a call of a variant symbol is hooked");
    struct verdict verdict = check_thunk_hooked(function, true, leaves);
    verdict_report(&verdict, "its calls keep all registers%s", leaves ? ", with leave" : "");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK), "the hook is detached");
    verdict = check_thunk_hooked(function, false, false);
    verdict_report(&verdict, "its calls keep all registers without a hook");
}

/* Hooks of base-standard callees cost less, because callers rely on fewer preserved registers. */
static void test_base(void) {
    struct carry_hook hook = {.symbol = "whole_entry", .enter = note_enter};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(hook.attached, 1),
           "a call of a base-standard symbol is hooked");
    vector_size = 0;
    check_thunk_hooked(dlsym(module, "call_base"), true, false);
    tap_ok(TAP_EQ(vector_size, 16), "its callbacks see vectors of 16 bytes");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK), "the hook is detached");
}

/* --- Entries --- */

/* Calls by a direct branch, for which BTI needs no landing pad. */
void call_entry(void);
__asm__(".text\n"
        ".globl call_entry\n"
        "call_entry: hint #34\n\t"
        "b whole_entry");

static void test_entry_now(const char *how, bool enters, bool leaves) {
    struct verdict verdict = check_thunk_hooked((const void *)call_entry, enters, leaves);
    verdict_report(&verdict, "%s: an entry keeps all registers%s", how,
                   leaves ? ", with leave" : "");
}

static void test_streaming_entry(void) {
    if (!(carry_thunk_detect() >> MACHINE_SME & 1)) {
        tap_skip("streaming mode", "this CPU has none");
        return;
    }
    whole_mode |= 1 << WHOLE_STREAMING;
    test_entry_now("streaming mode", false, false);
    whole_mode &= ~(UINT64_C(1) << WHOLE_STREAMING);
}

static void test_guarded_entry(bool leaves) {
    void *page = (void *)(uintptr_t)whole_entry;
    if (!(carry_thunk_detect() >> MACHINE_BTI & 1) ||
        mprotect(page, GUARDED_BYTES, PROT_READ | PROT_EXEC | PROT_BTI)) {
        tap_skip("guarded text", "this CPU has no guards");
        return;
    }
    test_entry_now("guarded text", true, leaves);
    mprotect(page, GUARDED_BYTES, PROT_READ | PROT_EXEC);
}

static void test_entry(bool leaves) {
    struct carry_hook hook = {.enter = note_enter, .leave = leaves ? note_leave : NULL};
    test_entry_now("no hook", false, false);
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, whole_entry), CARRY_OK),
           "an entry of one NOP is hooked");
    test_entry_now("hooked", true, leaves);
    test_guarded_entry(leaves);
    test_streaming_entry();
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK), "the hook is detached");
    test_entry_now("after detaching", false, false);
}

/* --- A mutant --- */

static void test_mutant(void) {
    struct carry_hook call = {.symbol = "whole_target", .enter = note_enter, .leave = note_leave};
    struct carry_hook entry = {.enter = note_enter, .leave = note_leave};
    broken_hook_all_are_base = true;
    carry_hook_attach_calls(&call);
    struct verdict verdict = check_thunk_hooked(dlsym(module, "call_variant"), true, true);
    tap_ok(!verdict.ok,
           "a mutant that uses the base-standard thunk for calls of a variant is caught: %s",
           verdict.text);
    carry_hook_detach(&call);
    carry_hook_attach_entry(&entry, whole_entry);
    verdict = check_thunk_hooked((const void *)call_entry, true, true);
    tap_ok(!verdict.ok, "a mutant that uses the base-standard thunk for entries is caught: %s",
           verdict.text);
    carry_hook_detach(&entry);
    broken_hook_all_are_base = false;
}

int main(int argc, char **argv) {
    module = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!module)
        return tap_skip_all("no shared object with calls");
    check_thunk_start();
    for (int leaves = 0; leaves < 2; leaves++) {
        test_variant(leaves);
        test_entry(leaves);
    }
    test_base();
    test_mutant();
    return tap_done();
}
