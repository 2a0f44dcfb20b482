/* SPDX-License-Identifier: MIT */
/*
 * Tests hooks of calls and of entries. Built three times: with slots that are bound at the first
 * call, with slots in read-only memory (-z now), and without a PLT (-fno-plt).
 */
#include <carry/cpu.h>
#include <carry/hook.h>
#include <carry/patch.h>
#include <carry/thunk.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/sandbox.h"
#include "harness/tap.h"
#include "hook/stub.h"
#include "unit/hook/check.h"

/* Gives a function an entry to patch. Prevents clones, which would have entries of their own. */
#ifdef __clang__
#define ENTRY __attribute__((noinline, patchable_function_entry(5)))
#else
#define ENTRY __attribute__((noipa, patchable_function_entry(5)))
#endif

#define HANG_SECONDS    120  /* ends a hanging test, even on a busy machine */
#define STACK_WORDS_MAX 4096 /* of struct carry_thunk */

static const char *plugin, *bare; /* shared objects that some tests load */

#define BARE_BYTES 4096 /* of text */

/* --- Callbacks --- */

static size_t enters, leaves;
static const char *last_symbol;

static void count_enter(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)call, (void)user;
    last_symbol = place->symbol;
    __atomic_fetch_add(&enters, 1, __ATOMIC_RELAXED);
}

static void count_leave(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call, (void)user;
    __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
}

static void start_counting(void) {
    enters = leaves = 0;
}

/* --- Values --- */

static bool call_adds(void) {
    return add_by_slot(40, 2) == 42;
}

static bool is_variadic(void) {
    return callee_variadic(6, 1, 2.5, 3, 4.25, 5, 6.125) == 21.875 &&
           callee_variadic(3, 1, 0.5, 2) == 3.5;
}

static bool returns_big(void) {
    struct callee_big big = callee_make_big(7);
    return big.words[0] == 7 && big.words[4] == 11;
}

static bool returns_pair(void) {
    struct callee_pair pair = callee_make_pair(7, 1.5);
    return pair.integer == 8 && pair.real == 2.5;
}

static bool returns_long_double(void) {
    return callee_long_double(1.25L, 3) == 3.75L;
}

static bool takes_eight(void) {
    return callee_eight(1, 2, 3, 4, 5, 6, 7, 8) == 204;
}

static bool takes_twelve(void) {
    return callee_twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) == 650;
}

#ifdef __x86_64__
__attribute__((target("avx"))) static bool takes_wide(void) {
    callee_wide a = {1, 2, 3, 4, 5, 6, 7, 8};
    callee_wide sum = callee_add_wide(a, a);
    bool ok = true;
    for (int i = 0; i < 8; i++)
        ok = ok && sum[i] == 2 * (float)(i + 1);
    return ok;
}

__attribute__((target("avx512f"))) static bool takes_widest(void) {
    callee_widest a = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    callee_widest sum = callee_add_widest(a, a);
    bool ok = true;
    for (int i = 0; i < 16; i++)
        ok = ok && sum[i] == 2 * (float)(i + 1);
    return ok;
}
#endif

static bool jumps_out(void) {
    jmp_buf place;
    volatile int rounds = 0;
    int value = setjmp(place);
    rounds++;
    if (!value)
        callee_jump(place, 3);
    return value == 3 && rounds == 2;
}

static const struct value {
    const char *symbol;
    bool (*is_right)(void);
    size_t calls;
    bool never_returns;
    const char *feature;
} values[] = {
    {"callee_add", call_adds, 1, false, NULL},
    {"callee_variadic", is_variadic, 2, false, NULL},
    {"callee_make_big", returns_big, 1, false, NULL},
    {"callee_make_pair", returns_pair, 1, false, NULL},
    {"callee_long_double", returns_long_double, 1, false, NULL},
    {"callee_eight", takes_eight, 1, false, NULL},
    {"callee_twelve", takes_twelve, 1, false, NULL},
#ifdef __x86_64__
    {"callee_add_wide", takes_wide, 1, false, "avx"},
    {"callee_add_widest", takes_widest, 1, false, "avx512f"},
#endif
    {"callee_jump", jumps_out, 1, true, NULL},
};

static bool check_hooked_call(const struct value *value, bool leave, size_t stack_words) {
    struct carry_hook hook = {.object = "",
                              .symbol = value->symbol,
                              .enter = count_enter,
                              .leave = leave ? count_leave : NULL,
                              .stack_words = stack_words};
    start_counting();
    bool ok = carry_hook_attach_calls(&hook) == CARRY_OK && hook.attached == 1;
    ok = value->is_right() && ok && enters == value->calls && !strcmp(last_symbol, value->symbol);
    ok = ok && leaves == (leave && !value->never_returns ? value->calls : 0);
    ok = carry_hook_detach(&hook) == CARRY_OK && ok;
    start_counting();
    return value->is_right() && ok && !enters && !leaves;
}

static void test_values(void) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct value *value = &values[i];
        if (value->feature && !carry_cpu_has(value->feature)) {
            tap_skip(value->symbol, "no %s", value->feature);
            continue;
        }
        tap_ok(check_hooked_call(value, false, 16), "%s, enter", value->symbol);
        tap_ok(check_hooked_call(value, true, 16), "%s, enter and leave", value->symbol);
        tap_ok(check_hooked_call(value, true, 16), "%s, a second time", value->symbol);
    }
}

/* --- Registers --- */

static void test_registers(void) {
    static const char *const names[] = {"call", "entry"};
    for (int entry = 0; entry < 2; entry++)
        for (int leave = 0; leave < 2; leave++)
            tap_ok(hook_keeps_registers(entry, leave),
                   "%s, enter%s: registers of arguments, results and the caller", names[entry],
                   leave ? " and leave" : "");
}

/* --- Refusals --- */

static void test_refused(void) {
    struct carry_hook none = {.symbol = "callee_add"};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&none), CARRY_ERROR_INVALID),
           "a hook without callbacks is refused");
    struct carry_hook unknown = {.symbol = "no_such_function", .enter = count_enter};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&unknown), CARRY_ERROR_UNKNOWN),
           "an unknown function is refused");
    struct carry_hook elsewhere = {
        .object = "libc.so.6", .symbol = "callee_add", .enter = count_enter};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&elsewhere), CARRY_ERROR_UNKNOWN),
           "a function of another object is refused");

    struct carry_hook first = {.object = "", .symbol = "callee_add", .enter = count_enter};
    struct carry_hook second = first;
    tap_ok(TAP_EQ(carry_hook_attach_calls(&first), CARRY_OK), "a first hook is attached");
    tap_ok(TAP_EQ(carry_hook_attach_calls(&second), CARRY_ERROR_BUSY) && TAP_EQ(second.skipped, 1),
           "a second hook of the same call is refused");
    tap_ok(TAP_EQ(carry_hook_attach_calls(&first), CARRY_OK) && TAP_EQ(first.attached, 1),
           "attaching the first hook again is refused");
    tap_ok(TAP_EQ(carry_hook_detach(&second), CARRY_OK) &&
               TAP_EQ(carry_hook_detach(&first), CARRY_OK),
           "both hooks are detached");

    struct carry_hook twice = {.symbol = "_setjmp", .enter = count_enter, .leave = count_leave};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&twice), CARRY_ERROR_BUSY) && TAP_TRUE(twice.skipped),
           "leave is refused for a function that returns twice");
    struct carry_hook once = {.symbol = "_setjmp", .enter = count_enter};
    start_counting();
    tap_ok(TAP_EQ(carry_hook_attach_calls(&once), CARRY_OK) && TAP_TRUE(jumps_out()) &&
               TAP_EQ(enters, 1),
           "enter is accepted for such a function");
    carry_hook_detach(&once);
}

/* --- Slots --- */

struct wanted {
    const char *symbol;
    const char *object;
    struct carry_hook_place place;
    size_t count;
};

static bool is_object(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, name);
}

static bool look_for(const struct carry_hook_place *place, void *user) {
    struct wanted *wanted = user;
    if (place->kind == CARRY_HOOK_CALL && !strcmp(place->symbol, wanted->symbol) &&
        is_object(place->object, wanted->object)) {
        wanted->place = *place;
        wanted->count++;
    }
    return true;
}

static struct wanted find_place(const char *object, const char *symbol) {
    struct wanted wanted = {.symbol = symbol, .object = object};
    carry_hook_places(look_for, &wanted);
    return wanted;
}

static uintptr_t slot_value(const struct wanted *wanted) {
    return *(volatile uintptr_t *)wanted->place.address;
}

static void test_slots(void) {
    struct wanted wanted = find_place("", "callee_add");
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = count_enter};
    call_adds();
    uintptr_t function = slot_value(&wanted);
    tap_ok(TAP_EQ(wanted.count, 1) &&
               TAP_EQ(function, (uintptr_t)dlsym(RTLD_DEFAULT, "callee_add")),
           "a slot is found, and contains its function after the first call");
    carry_hook_attach_calls(&hook);
    uintptr_t stub = slot_value(&wanted);
    carry_hook_detach(&hook);
    tap_ok(TAP_TRUE(hook_goes()) && TAP_EQ(slot_value(&wanted), function),
           "after detaching, the slot contains the function again");
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(slot_value(&wanted), stub) &&
               TAP_NE(stub, function),
           "attached again, the slot contains the same stub");
    carry_hook_detach(&hook);
}

static bool can_write(uintptr_t address) {
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile uintptr_t *)address = *(volatile uintptr_t *)address;
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
}

static void test_protection(void) {
    struct wanted wanted = find_place("", "callee_add");
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = count_enter};
    bool before = can_write(wanted.place.address);
    carry_hook_attach_calls(&hook);
    bool attached = can_write(wanted.place.address);
    carry_hook_detach(&hook);
    tap_ok(TAP_EQ(attached, before) && TAP_EQ(can_write(wanted.place.address), before),
           "pages remain %s", before ? "writable" : "read-only");
}

static uint64_t foreign_function(uint64_t a, uint64_t b) {
    return a * b;
}

static void test_foreign(void) {
    struct wanted wanted = find_place("", "callee_add");
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = count_enter};
    if (!can_write(wanted.place.address)) {
        tap_skip("another library's hook", "the slots are read-only");
        return;
    }
    carry_hook_attach_calls(&hook);
    uintptr_t stub = slot_value(&wanted);
    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)foreign_function;
    start_counting();
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_ERROR_BYTES) && TAP_EQ(add_by_slot(6, 7), 42) &&
               TAP_EQ(enters, 0),
           "another library's hook over a hook remains");
    *(volatile uintptr_t *)wanted.place.address = stub;
    tap_ok(TAP_TRUE(call_adds()) && TAP_EQ(enters, 0),
           "the other hook's call leads to the function");
    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)dlsym(RTLD_DEFAULT, "callee_add");

    carry_hook_attach_calls(&hook);
    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)dlsym(RTLD_DEFAULT, "callee_add");
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(slot_value(&wanted), stub) &&
               TAP_TRUE(call_adds()) && TAP_TRUE(enters),
           "a slot that the linker has bound over a hook is hooked again");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK), "such a hook is detached");

    carry_hook_attach_calls(&hook);
    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)dlsym(RTLD_DEFAULT, "callee_add");
    start_counting();
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_TRUE(call_adds()) && TAP_EQ(enters, 0),
           "such a hook can be detached before that, too");

    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)foreign_function;
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(add_by_slot(6, 7), 42) &&
               TAP_EQ(enters, 1),
           "a hook over another library's hook leads to that library's function");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) &&
               TAP_EQ(slot_value(&wanted), (uintptr_t)foreign_function),
           "detaching it restores the other library's hook");
    *(volatile uintptr_t *)wanted.place.address = (uintptr_t)dlsym(RTLD_DEFAULT, "callee_add");
}

/* Tests an IFUNC, which may not be bound yet, and a function with a version. */
static void test_unbound(void) {
    struct wanted wanted = find_place("libhook_callee.so", "memcpy");
    struct carry_hook hook = {
        .object = "libhook_callee.so", .symbol = "memcpy", .enter = count_enter};
    char to[64] = "", from[64] = "a text of some length that is copied by memcpy";
    tap_note("memcpy@%s of %s: %s", wanted.place.version, wanted.place.object,
             wanted.place.function ? "bound" : "not bound yet");
    start_counting();
    if (wanted.count) {
        tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(hook.attached, 1),
               "an IFUNC of a shared object is hooked");
        callee_copy(to, from, sizeof to);
        tap_ok(TAP_STREQ(to, from) && TAP_EQ(enters, 1), "copies");
        carry_hook_detach(&hook);
        callee_copy(to, from, sizeof to);
        tap_ok(TAP_EQ(enters, 1), "an IFUNC of a shared object is hooked no more");
    } else {
        tap_skip("an IFUNC of a shared object", "a sanitizer calls another function for it");
    }
    struct wanted versioned = find_place("", "sched_yield"); /* no other test hooks it */
#ifdef __GLIBC__
    const char *expected = "GLIBC_";
#else
    const char *expected = "";
#endif
    /* There may be two slots: for object files compiled with a PLT, and for others. */
    tap_ok(TAP_GE(versioned.count, 1) &&
               TAP_TRUE(!strncmp(versioned.place.version, expected, strlen(expected))),
           "versions are reported: %s", versioned.place.version);
}

/* Tests a weak function that exists nowhere: its slot is bound at the first call, or empty. */
static void test_nowhere(void) {
    struct wanted wanted = find_place("libhook_callee.so", "callee_nowhere");
    struct carry_hook hook = {
        .object = "libhook_callee.so", .symbol = "callee_nowhere", .enter = count_enter};
    int expected = wanted.count ? CARRY_ERROR_BUSY : CARRY_ERROR_UNKNOWN;
    callee_try_nowhere(false);
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), expected) && TAP_EQ(hook.skipped, wanted.count) &&
               TAP_TRUE(!hook.attached),
           "a function that exists nowhere is skipped");
}

static bool tells_once(const struct carry_hook_place *place, void *user) {
    (void)place;
    ++*(size_t *)user;
    return false;
}

static bool wants_callees(const struct carry_hook_place *place, void *user) {
    (void)user;
    return !strncmp(place->symbol, "callee_", 7);
}

static void test_many(void) {
    size_t told = 0;
    tap_ok(TAP_EQ(carry_hook_places(tells_once, &told), CARRY_OK) && TAP_EQ(told, 1),
           "a callback can end a list");
    tap_ok(TAP_EQ(find_place("", "callee_add").place.by_plt, CALLS_BY_PLT),
           "calls through the PLT are listed");
    struct carry_hook all = {.enter = count_enter, .leave = count_leave, .stack_words = 64};
    start_counting();
    int error = carry_hook_attach_calls(&all);
    size_t attached = all.attached;
    bool right = true;
    for (size_t i = 0; i < 7; i++)
        right = values[i].is_right() && right;
    char text[100];
    snprintf(text, sizeof text, "%d %.2f %s %d %d %d %d %d", 1, 2.5, "three", 4, 5, 6, 7, 8);
    right = right && !strcmp(text, "1 2.50 three 4 5 6 7 8");
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(right) && TAP_GT(enters, 7) &&
               TAP_LE(leaves, enters),
           "all %zu calls of all objects are hooked", attached);
    tap_ok(TAP_EQ(carry_hook_detach(&all), CARRY_OK), "all calls are detached");

    struct carry_hook chosen = {.object = "", .wants = wants_callees, .enter = count_enter};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&chosen), CARRY_OK) &&
               TAP_GE(chosen.attached, sizeof values / sizeof *values) &&
               TAP_LT(chosen.attached, attached),
           "a function chooses the calls that are hooked: %zu", chosen.attached);
    carry_hook_detach(&chosen);
}

/* --- Arguments on the stack, in any number --- */

static bool weighs_forty(void) {
    return callee_weigh(39, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                        21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38,
                        39) == 39 * 40 * 79 / 6;
}

static void test_stack_words(void) {
    static const struct value values_on_stack[] = {
        {"callee_twelve", takes_twelve, 1, false, NULL},
        {"callee_weigh", weighs_forty, 1, false, NULL},
    };
    for (size_t i = 0; i < sizeof values_on_stack / sizeof *values_on_stack; i++)
        tap_ok(check_hooked_call(&values_on_stack[i], true, 0),
               "%s, any number of words on the stack", values_on_stack[i].symbol);
    struct carry_hook many = {
        .symbol = "callee_add", .leave = count_leave, .stack_words = STACK_WORDS_MAX + 1};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&many), CARRY_ERROR_INVALID),
           "more words than a thunk copies are refused");
    many.stack_words = STACK_WORDS_MAX;
    tap_ok(TAP_EQ(carry_hook_attach_calls(&many), CARRY_OK) && TAP_TRUE(call_adds()) &&
               TAP_EQ(carry_hook_detach(&many), CARRY_OK),
           "as many words as a thunk copies are accepted");
}

/* --- Callbacks that call --- */

static void call_hooked(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call;
    *(bool *)user = call_adds();
    errno = EDOM;
    enters++;
}

static void raise_in_callback(const struct carry_hook_place *place, struct carry_thunk_call *call,
                              void *user) {
    (void)place, (void)call, (void)user;
    enters++;
    raise(SIGUSR1);
}

static void attach_and_call(const struct carry_hook_place *place, struct carry_thunk_call *call,
                            void *user) {
    (void)place, (void)call;
    enters++;
    carry_hook_attach_calls(user);
    call_adds();
}

static volatile bool handler_was_right;

static void call_in_handler(int number) {
    (void)number;
    handler_was_right = call_adds();
}

static void test_nested(void) {
    bool right = false;
    struct carry_hook hook = {.object = "",
                              .symbol = "callee_add",
                              .enter = call_hooked,
                              .leave = call_hooked,
                              .user = &right};
    start_counting();
    carry_hook_attach_calls(&hook);
    errno = ERANGE;
    tap_ok(TAP_TRUE(call_adds()) && TAP_TRUE(right) && TAP_EQ(enters, 2),
           "a callback's own calls are not hooked");
    tap_ok(TAP_EQ(errno, ERANGE), "errno is unchanged");
    carry_hook_detach(&hook);

    struct carry_hook raising = {.object = "", .symbol = "callee_add", .enter = raise_in_callback};
    signal(SIGUSR1, call_in_handler);
    start_counting();
    carry_hook_attach_calls(&raising);
    tap_ok(TAP_TRUE(call_adds()) && TAP_TRUE(handler_was_right) && TAP_EQ(enters, 1),
           "calls in a signal handler during a callback are not hooked");
    carry_hook_detach(&raising);
    signal(SIGUSR1, SIG_DFL);

    struct carry_hook other = {.object = "", .symbol = "callee_variadic", .enter = count_enter};
    struct carry_hook attaching = {
        .object = "", .symbol = "callee_add", .enter = attach_and_call, .user = &other};
    start_counting();
    carry_hook_attach_calls(&attaching);
    tap_ok(TAP_TRUE(call_adds()) && TAP_EQ(other.attached, 1) && TAP_EQ(enters, 1),
           "a callback attaches, and calls unhooked");
    carry_hook_detach(&attaching);
    carry_hook_detach(&other);
}

/* Changes an argument, as callbacks may. */
static void change_arguments(const struct carry_hook_place *place, struct carry_thunk_call *call,
                             void *user) {
    (void)place, (void)user;
    call->integer[0] += 100;
}

static void change_result(const struct carry_hook_place *place, struct carry_thunk_call *call,
                          void *user) {
    (void)place, (void)user;
    call->result[0] += 1000;
}

static void test_changes(void) {
    struct carry_hook hook = {
        .object = "", .symbol = "callee_add", .enter = change_arguments, .leave = change_result};
    carry_hook_attach_calls(&hook);
    tap_ok(TAP_EQ(add_by_slot(1, 2), 1103), "arguments and results can be changed");
    carry_hook_detach(&hook);
    tap_ok(TAP_EQ(add_by_slot(1, 2), 3), "detaching ends the changes");
}

/* Sets the call's word in `enter`; `leave` receives it. Each call has its own word. */
static void number_call(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place;
    bool *fresh = user;
    *fresh = *fresh && !call->word;
    call->word = call->integer[0] + 1000;
}

static void add_number(const struct carry_hook_place *place, struct carry_thunk_call *call,
                       void *user) {
    (void)place, (void)user;
    call->result[0] += call->word;
}

static void test_word(void) {
    bool fresh = true;
    struct carry_hook hook = {.object = "",
                              .symbol = "callee_add",
                              .enter = number_call,
                              .leave = add_number,
                              .user = &fresh};
    carry_hook_attach_calls(&hook);
    tap_ok(TAP_EQ(add_by_slot(1, 2), 1004) && TAP_EQ(add_by_slot(5, 2), 1012) && TAP_TRUE(fresh),
           "callbacks have a word for each call");
    carry_hook_detach(&hook);
}

/* --- Calls in progress --- */

static volatile int gate, inside;

static void *wait_inside(void *unused) {
    (void)unused;
    return (void *)(uintptr_t)callee_wait(&gate, &inside);
}

static void test_under_way(const struct carry_hook *next, const char *how) {
    struct carry_hook *hook = calloc(1, sizeof *hook);
    struct carry_hook other = next ? *next : (struct carry_hook){0};
    pthread_t thread;
    void *result = NULL;
    *hook = (struct carry_hook){.object = "", .symbol = "callee_wait", .leave = count_leave};
    gate = inside = 0;
    start_counting();
    bool ok = !carry_hook_attach_calls(hook) && !pthread_create(&thread, NULL, wait_inside, NULL);
    while (!inside)
        ;
    ok = !carry_hook_detach(hook) && ok;
    memset(hook, 0xa5, sizeof *hook);
    free(hook);
    ok = !(next && carry_hook_attach_calls(&other)) && ok;
    gate = 1;
    pthread_join(thread, &result);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(result, (void *)7) && TAP_EQ(enters, 0) && TAP_EQ(leaves, 0),
           "a call can outlive its hook%s", how);
    carry_hook_detach(&other);
}

static void test_calls_under_way(void) {
    const struct carry_hook leave = {.object = "", .symbol = "callee_wait", .leave = count_leave};
    const struct carry_hook enter = {.object = "", .symbol = "callee_wait", .enter = count_enter};
    test_under_way(NULL, "");
    test_under_way(&leave, ", into the next one");
    test_under_way(&enter, ", into one without leave");
}

/* --- Callbacks in progress --- */

static volatile int callback_gate, in_callback, callback_done;

static void wait_in_callback(const struct carry_hook_place *place, struct carry_thunk_call *call,
                             void *user) {
    (void)place, (void)call, (void)user;
    in_callback = 1;
    while (!callback_gate)
        sched_yield();
    usleep(1000);
    callback_done = 1;
}

static void *call_once(void *unused) {
    return call_adds() ? unused : NULL;
}

static void *open_gate(void *unused) {
    usleep(1000);
    callback_gate = 1;
    return unused;
}

static void test_callback_under_way(bool waits) {
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = wait_in_callback};
    pthread_t caller, opener;
    hook.waits = waits;
    callback_gate = in_callback = callback_done = 0;
    bool ok = !carry_hook_attach_calls(&hook);
    pthread_create(&caller, NULL, call_once, NULL);
    while (!in_callback)
        sched_yield();
    if (waits)
        pthread_create(&opener, NULL, open_gate, NULL);
    ok = TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_EQ(callback_done, waits) && ok;
    callback_gate = 1;
    pthread_join(caller, NULL);
    if (waits)
        pthread_join(opener, NULL);
    tap_ok(ok, "detaching %s for a callback", waits ? "waits" : "does not wait");
}

/* Detaches a hook in a child process, where the thread in its callback does not exist. */
static bool detaches_in_child(struct carry_hook *hook) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_SECONDS);
        bool ok = !carry_hook_detach(hook) && !carry_hook_attach_calls(hook);
        callback_gate = 1;
        _exit(ok && call_adds() && !carry_hook_detach(hook) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void test_callback_in_fork(void) {
    struct carry_hook hook = {
        .object = "", .symbol = "callee_add", .enter = wait_in_callback, .waits = true};
    pthread_t caller;
    callback_gate = in_callback = callback_done = 0;
    bool ok = !carry_hook_attach_calls(&hook);
    pthread_create(&caller, NULL, call_once, NULL);
    while (!in_callback)
        sched_yield();
    tap_ok(TAP_TRUE(detaches_in_child(&hook)) && TAP_TRUE(ok),
           "after fork(), detaching waits for this thread only");
    callback_gate = 1;
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_TRUE(callback_done),
           "in the parent, detaching waits for all threads");
    pthread_join(caller, NULL);
}

static void fork_in_callback(const struct carry_hook_place *place, struct carry_thunk_call *call,
                             void *user) {
    (void)place, (void)call;
    *(pid_t *)user = fork();
}

static void test_fork_in_callback(void) {
    pid_t child = -1;
    int status = -1;
    struct carry_hook hook = {.object = "",
                              .symbol = "callee_add",
                              .enter = fork_in_callback,
                              .user = &child,
                              .waits = true};
    bool ok = !carry_hook_attach_calls(&hook) && call_adds();
    if (child == 0) {
        alarm(HANG_SECONDS);
        _exit(ok && !carry_hook_detach(&hook) && call_adds() ? 0 : 1);
    }
    ok = child > 0 && waitpid(child, &status, 0) == child && status == 0 && ok;
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_TRUE(ok),
           "a callback that forks is waited for in both processes");
}

/* --- Objects that are loaded and unloaded --- */

static bool is_loaded(void) {
    void *handle = dlopen(plugin, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static void test_plugin(void) {
    struct carry_hook hook = {
        .object = plugin, .symbol = "callee_add", .enter = count_enter, .leave = count_leave};
    tap_ok(TAP_EQ(carry_hook_attach_calls(&hook), CARRY_ERROR_UNKNOWN),
           "a plugin that is not loaded is unknown");
    void *handle = dlopen(plugin, RTLD_LAZY | RTLD_LOCAL);
    uint64_t (*add)(uint64_t) = handle ? (uint64_t(*)(uint64_t))dlsym(handle, "plugin_add") : NULL;
    start_counting();
    if (!tap_ok(TAP_TRUE(add) && TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) &&
                    TAP_EQ(add(1), 3) && TAP_EQ(enters, 1),
                "a loaded plugin is hooked"))
        return;
    struct carry_hook entry = {.enter = count_enter};
    tap_ok(TAP_EQ(carry_hook_attach_entry(&entry, (void (*)(void))add), CARRY_OK) &&
               TAP_EQ(add(1), 3) && TAP_EQ(enters, 3),
           "a loaded plugin's entry is hooked");
    carry_hook_detach(&entry);
    dlclose(handle);
    tap_ok(TAP_TRUE(is_loaded()) && TAP_EQ(add(2), 4),
           "a plugin remains loaded while it is hooked");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_TRUE(!is_loaded()),
           "a plugin is unloaded afterwards");
}

/* --- Objects that search themselves first --- */

/* Shared objects define both of these functions, too. */
uint64_t plugin_number(void) {
    return 1;
}

uint64_t callee_number(void) {
    return 1;
}

/*
 * Makes a shared object's file symbolic: an optional entry of its dynamic section becomes
 * DT_SYMBOLIC.
 */
static bool make_symbolic(uint8_t *file) {
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)file;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(file + head->e_phoff);
    while (segment->p_type != PT_DYNAMIC)
        segment++;
    ElfW(Dyn) *entry = (ElfW(Dyn) *)(file + segment->p_offset);
    while (entry->d_tag != DT_RELACOUNT && entry->d_tag != DT_NULL)
        entry++;
    const bool found = entry->d_tag != DT_NULL;
    if (found)
        entry->d_tag = DT_SYMBOLIC;
    return found;
}

/* Returns the path of a copy of the plugin that is symbolic; "" if there is none. */
static const char *copy_symbolic(void) {
    static char path[64] = "";
    int from = open(plugin, O_RDONLY | O_CLOEXEC), to = memfd_create("symbolic", MFD_CLOEXEC);
    const size_t size = (size_t)lseek(from, 0, SEEK_END);
    uint8_t *file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
    if (file != MAP_FAILED && make_symbolic(file) && write(to, file, size) == (ssize_t)size)
        snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    return path;
}

static bool wants_numbers(const struct carry_hook_place *place, void *user) {
    (void)user;
    return strstr(place->symbol, "_number") || strstr(place->symbol, "_nowhere");
}

static uint64_t numbers_of(void *handle) {
    return ((uint64_t(*)(bool))dlsym(handle, "plugin_numbers"))(false);
}

/* Checks that calls hooked before they are bound reach the functions to which the linker binds
   them. */
static bool numbers_are(const char *path, uint64_t expected) {
    struct carry_hook hook = {.object = path, .wants = wants_numbers, .enter = count_enter};
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    start_counting();
    bool ok = handle && !carry_hook_attach_calls(&hook) && hook.attached == 2 &&
              numbers_of(handle) == expected && enters == 2;
    carry_hook_detach(&hook);
    ok = handle && numbers_of(handle) == expected && !dlclose(handle) && ok;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle && numbers_of(handle) == expected && !dlclose(handle) && ok;
}

static void test_scopes(void) {
    const char *symbolic = copy_symbolic();
    tap_ok(numbers_are(plugin, 11), "calls of an object lead to the program's functions first");
    if (*symbolic)
        tap_ok(numbers_are(symbolic, 21), "calls of a symbolic object lead to its own functions, "
                                          "but not to those of its dependencies");
    else
        tap_skip("calls of symbolic objects", "none can be made here");
}

/* --- Refused system calls --- */

/* Selects one call of the program, and the calls of an object whose slots are writable. */
static bool wants_some(const struct carry_hook_place *place, void *user) {
    (void)user;
    return is_object(place->object, "libhook_callee.so")
               ? place->by_plt
               : is_object(place->object, "") && !strcmp(place->symbol, "callee_eight");
}

static bool nothing_changes(int expected) {
    struct wanted wanted = find_place("", "callee_eight");
    uintptr_t before = slot_value(&wanted);
    struct carry_hook hook = {.wants = wants_some, .enter = count_enter};
    return carry_hook_attach_calls(&hook) == expected && slot_value(&wanted) == before &&
           takes_eight() && jumps_out() && !enters && !hook.attached && !hook.points &&
           !carry_hook_detach(&hook);
}

/* Attaches a hook without memfd_create(), where no memory can be both writable and executable. */
static bool without_files(void) {
    static const struct sandbox_rule rules[] = {
        {SYS_memfd_create, EPERM, 0, 0, 0},
        {SYS_mmap, EPERM, 2, PROT_EXEC | PROT_WRITE, PROT_EXEC | PROT_WRITE},
        {SYS_mprotect, EPERM, 2, PROT_EXEC | PROT_WRITE, PROT_EXEC | PROT_WRITE}};
    struct carry_hook hook = {.object = "", .symbol = "callee_eight", .enter = count_enter};
    return sandbox_filter(rules, 3) && !carry_hook_attach_calls(&hook) && takes_eight() && enters &&
           !carry_hook_detach(&hook);
}

static bool without_text(void) {
    static const struct sandbox_rule rules[] = {{SYS_memfd_create, EPERM, 0, 0, 0},
                                                {SYS_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC}};
    return sandbox_filter(rules, 2) && nothing_changes(CARRY_ERROR_PERMISSION);
}

/* Attaches hooks where pages cannot become writable, as if they were sealed. */
static bool without_protection(void) {
    struct carry_hook first = {.object = "", .symbol = "callee_add", .enter = count_enter};
    static const struct sandbox_rule rules[] = {{SYS_mprotect, EPERM, 2, PROT_WRITE, PROT_WRITE}};
    bool constant = !can_write(find_place("", "callee_eight").place.address);
    bool ok = !carry_hook_attach_calls(&first); /* maps stubs */
    ok = sandbox_filter(rules, 1) && ok;
    if (!constant)
        return ok && !carry_hook_detach(&first);
    return nothing_changes(CARRY_ERROR_PERMISSION) &&
           carry_hook_detach(&first) == CARRY_ERROR_PERMISSION && call_adds() && ok;
}

/* Attaches a hook where data cannot become text, and text cannot become writable. */
static bool with_separation(void) {
    static const struct sandbox_rule rules[] = {
        {SYS_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC},
        {SYS_mmap, EPERM, 2, PROT_EXEC | PROT_WRITE, PROT_EXEC | PROT_WRITE}};
    struct carry_hook hook = {.object = "", .symbol = "callee_eight", .enter = count_enter};
    return sandbox_filter(rules, 2) && !carry_hook_attach_calls(&hook) && takes_eight() && enters;
}

static bool entry_stays(int expected) {
    struct carry_hook hook = {.enter = count_enter};
    return carry_hook_attach_entry(&hook, entry_registers) == expected && entry_is_intact() &&
           !enters && !hook.attached && !hook.points && !carry_hook_detach(&hook);
}

/* Checks that an entry remains unchanged where no way to write text is allowed. */
static bool without_writers(void) {
    static const struct sandbox_rule rules[] = {{SYS_pwrite64, EPERM, 0, 0, 0},
                                                {SYS_memfd_create, EPERM, 0, 0, 0},
                                                {SYS_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC}};
    return sandbox_filter(rules, 3) && entry_stays(CARRY_ERROR_PERMISSION);
}

static bool without_barriers(void) {
    static const struct sandbox_rule rules[] = {{SYS_membarrier, EPERM, 0, 0, 0}};
    return sandbox_filter(rules, 1) && entry_stays(CARRY_ERROR_NO_SYNC);
}

static bool in_child(bool (*question)(void)) {
    fflush(stdout);
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        alarm(HANG_SECONDS);
        start_counting();
        _exit(question() ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Tests refused system calls. Must run before this process has mapped stubs. */
static void test_sandboxes(void) {
    static const struct sandbox_rule none[] = {{SYS_acct, EPERM, 0, 0, 0}};
    fflush(stdout);
    pid_t child = fork();
    int status = -1;
    if (child == 0)
        _exit(!sandbox_filter(none, 1));
    if (waitpid(child, &status, 0) != child || status) {
        tap_skip("sandboxes", "the system has no filters");
        return;
    }
    tap_ok(in_child(without_files), "hooks work without files in memory");
    tap_ok(in_child(without_text),
           "hooks are refused without files in memory where data cannot become text");
    tap_ok(in_child(without_protection),
           "hooks are refused for pages whose protection cannot change");
    tap_ok(in_child(with_separation), "hooks work where no page may be writable and executable");
    tap_ok(in_child(without_writers), "entries that cannot be written are refused");
    tap_ok(in_child(without_barriers), "entries are refused where cores cannot be synchronised");
}

/* --- Entries --- */

ENTRY static uint64_t entry_add(uint64_t a, uint64_t b) {
    __asm__ volatile("");
    return a + b;
}

ENTRY static uint64_t entry_other(uint64_t a) {
    __asm__ volatile("");
    return a ^ 1;
}

typedef void any_function(void);

static void test_entries(void) {
    struct carry_hook hook = {.enter = count_enter, .leave = count_leave};
    start_counting();
    tap_ok(
        TAP_EQ(carry_hook_attach_entry(&hook, (any_function *)test_entries), CARRY_ERROR_UNKNOWN),
        "a function without an entry is refused");
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, NULL), CARRY_ERROR_INVALID),
           "NULL is refused as a function");
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, (any_function *)entry_add), CARRY_OK) &&
               TAP_EQ(hook.attached, 1) && TAP_EQ(entry_add(1, 2), 3) &&
               TAP_EQ(entry_other(2), 3) && TAP_EQ(enters, 1) && TAP_EQ(leaves, 1),
           "an entry is hooked");
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, (any_function *)entry_add), CARRY_OK) &&
               TAP_EQ(hook.attached, 1),
           "attaching it again is refused");
    struct carry_hook all = {.enter = count_enter};
    tap_ok(TAP_EQ(carry_hook_attach_entries(&all), CARRY_OK) && TAP_EQ(all.skipped, 1) &&
               TAP_EQ(entry_add(1, 2), 3) && TAP_EQ(entry_other(2), 3) && TAP_EQ(enters, 3) &&
               TAP_EQ(leaves, 2),
           "all other entries are hooked: %zu", all.attached);
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) &&
               TAP_EQ(carry_hook_detach(&all), CARRY_OK) && TAP_EQ(entry_add(1, 2), 3) &&
               TAP_EQ(entry_other(2), 3) && TAP_EQ(enters, 3),
           "all entries are detached");
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    tap_ok(TAP_GE(stats.entries, 3), "entries are counted as sites");
}

/* Attaches one hook to an entry and a call. */
static void test_calls_and_entries(void) {
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = count_enter};
    start_counting();
    tap_ok(TAP_EQ(carry_hook_attach_entry(&hook, (any_function *)entry_add), CARRY_OK) &&
               TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) &&
               TAP_EQ(carry_hook_attach_calls(&hook), CARRY_OK) && TAP_EQ(hook.attached, 2) &&
               TAP_EQ(entry_add(1, 2), 3) && TAP_TRUE(call_adds()) && TAP_EQ(enters, 2),
           "one hook is attached to an entry and a call");
    tap_ok(TAP_EQ(carry_hook_detach(&hook), CARRY_OK) && TAP_EQ(entry_add(1, 2), 3) &&
               TAP_TRUE(call_adds()) && TAP_EQ(enters, 2),
           "the hook is detached from both");
}

/* --- Lists of entries --- */

struct told {
    struct carry_hook_place places[16];
    size_t count;
};

static bool tell_entry(const struct carry_hook_place *place, void *user) {
    struct told *told = user;
    if (place->kind == CARRY_HOOK_ENTRY && told->count < 16)
        told->places[told->count++] = *place;
    return true;
}

static struct told entries_told(void) {
    struct told told = {.count = 0};
    carry_hook_places(tell_entry, &told);
    return told;
}

/* Checks that a list contains each entry once. Linkers may leave addresses of removed
   functions in it, so addresses without an entry must be ignored. */
static bool lists_what_there_is(void) {
    static uint8_t data[8];
    carry_hook_unregister(&(uintptr_t){0});
    const struct told all = entries_told();
    const uintptr_t a = all.places[0].address, b = all.places[1].address;
    const uintptr_t first[] = {b, 0, (uintptr_t)data, a + 1, b}, second[] = {a};
    memcpy(data, (const void *)a, carry_entry_bytes());
    carry_hook_unregister(__start___patchable_function_entries);
    bool ok = all.count > 1 && !entries_told().count;
    ok = !carry_hook_register(first, first + 5) && !carry_hook_register(second, second + 1) && ok;
    ok = entries_told().count == 2 && ok;
    carry_hook_unregister(first);
    const struct told rest = entries_told();
    return rest.count == 1 && rest.places[0].address == a && ok;
}

static bool hooks_function(int (*function)(void)) {
    struct carry_hook hook = {.enter = count_enter};
    start_counting();
    return !carry_hook_attach_entry(&hook, (any_function *)function) && function() == 7 &&
           enters == 1 && !carry_hook_detach(&hook);
}

/*
 * Registers an object whose text begins with an entry, and ends with the first bytes of another
 * entry. The object is far from the program, so that it cannot use the program's stubs.
 */
static bool knows_where_text_ends(void) {
    void *handle = dlopen(bare, RTLD_NOW | RTLD_LOCAL);
    int (*function)(void) = handle ? (int (*)(void))dlsym(handle, "bare_first") : NULL;
    const uintptr_t list[] = {(uintptr_t)function,
                              (uintptr_t)function + BARE_BYTES + 1 - carry_entry_bytes()};
    carry_hook_unregister(__start___patchable_function_entries);
    return function && !carry_hook_register(list, list + 2) && entries_told().count == 1 &&
           hooks_function(function);
}

/* Hooks entries in two objects that are far from each other by one call. */
static bool reaches_far_objects(void) {
    void *handle = dlopen(bare, RTLD_NOW | RTLD_LOCAL);
    int (*function)(void) = handle ? (int (*)(void))dlsym(handle, "bare_first") : NULL;
    const uintptr_t list[] = {entries_told().places[0].address, (uintptr_t)function};
    carry_hook_unregister(__start___patchable_function_entries);
    return function && !carry_hook_register(list, list + 2) && entries_told().count == 2 &&
           hooks_function(function);
}

static void test_lists(void) {
    tap_ok(in_child(lists_what_there_is), "a list contains each entry once, and nothing else");
    tap_ok(in_child(knows_where_text_ends), "nothing after the end of text is read");
    tap_ok(in_child(reaches_far_objects),
           "entries of objects that are far from each other are hooked");
}

static void *wait_long(void *unused) {
    pause();
    return unused;
}

static bool allowed_once_applied(void) {
    struct carry_hook hook = {.enter = count_enter};
    pthread_t thread;
    bool ok = !carry_patch_apply(0);
    pthread_create(&thread, NULL, wait_long, NULL);
    return !carry_hook_attach_entry(&hook, entry_registers) && entry_is_intact() && enters == 1 &&
           !carry_hook_detach(&hook) && ok;
}

/* Where one NOP of an entry becomes a jump, the other NOPs are never written. */
static void test_quiet(void) {
    if (carry_entry_nops((const uint8_t *)entries_told().places[0].address) == 1) {
        tap_skip("several NOPs remain while threads run", "an entry is one NOP");
        tap_ok(in_child(allowed_once_applied), "one NOP changes while threads run");
        return;
    }
    tap_ok(in_child(hook_waits_for_quiet), "several NOPs remain while threads run");
    tap_ok(in_child(allowed_once_applied), "one NOP changes while threads run");
}

/* --- Places whose hook is detached --- */

static void *detach_hook(void *hook) {
    return carry_hook_detach(hook) ? NULL : hook;
}

static uint32_t word_at(const struct carry_hook_place *place) {
    uint32_t word;
    memcpy(&word, (const void *)place->address, sizeof word);
    return word;
}

/* No other hook can take over the places until the last callback has returned. */
static void test_going(const struct carry_hook_place *place, int (*attach)(struct carry_hook *),
                       void *(*call)(void *)) {
    struct carry_hook hook = {
        .object = "", .symbol = place->symbol, .enter = wait_in_callback, .waits = true};
    struct carry_hook other = {.object = "", .symbol = place->symbol, .enter = count_enter};
    pthread_t caller, detacher;
    void *called = NULL, *detached = NULL;
    callback_gate = in_callback = 0;
    bool ok = !attach(&hook);
    const uint32_t hooked = word_at(place);
    pthread_create(&caller, NULL, call, &hook);
    while (!in_callback)
        sched_yield();
    pthread_create(&detacher, NULL, detach_hook, &hook);
    while (word_at(place) == hooked)
        sched_yield();
    ok = TAP_EQ(attach(&other), CARRY_ERROR_BUSY) && TAP_EQ(other.skipped, 1) && ok;
    callback_gate = 1;
    pthread_join(caller, &called);
    pthread_join(detacher, &detached);
    ok = TAP_TRUE(called) && TAP_TRUE(detached) && TAP_TRUE(!attach(&other)) &&
         TAP_EQ(carry_hook_detach(&other), CARRY_OK) && ok;
    tap_ok(ok, "while a hook is detached, no other hook can have its %s",
           *place->symbol ? "call" : "entry");
}

static int attach_entry(struct carry_hook *hook) {
    return carry_hook_attach_entry(hook, (any_function *)entry_add);
}

static void *call_entry(void *unused) {
    return entry_add(1, 2) == 3 ? unused : NULL;
}

static bool look_for_entry(const struct carry_hook_place *place, void *user) {
    struct carry_hook_place *entry = user;
    if (place->kind == CARRY_HOOK_ENTRY && place->function == (uintptr_t)entry_add)
        *entry = *place;
    return !entry->address;
}

static void test_places_that_go(void) {
    struct carry_hook_place entry = {.address = 0};
    const struct wanted call = find_place("", "callee_add");
    carry_hook_places(look_for_entry, &entry);
    test_going(&call.place, carry_hook_attach_calls, call_once);
    test_going(&entry, attach_entry, call_entry);
}

/* --- Objects that are loaded again --- */

struct loaded {
    void *handle;
    uint64_t (*add)(uint64_t number);
};

static struct loaded load_plugin(void) {
    struct loaded loaded = {.handle = dlopen(plugin, RTLD_LAZY | RTLD_LOCAL)};
    loaded.add = (uint64_t(*)(uint64_t))dlsym(loaded.handle, "plugin_add");
    return loaded;
}

static bool hooks_plugin(struct carry_hook *hook, const struct loaded *loaded) {
    start_counting();
    return !carry_hook_attach_entry(hook, (any_function *)loaded->add) && loaded->add(1) == 3 &&
           enters == 1;
}

/*
 * Unloads a plugin while it is hooked. Its hook points must not be used again until the hook is
 * detached.
 */
static void test_plugin_again(void) {
    const size_t before = entries_told().count;
    struct carry_hook old = {.enter = count_enter}, new = {.enter = count_enter};
    struct loaded loaded = load_plugin();
    bool ok = hooks_plugin(&old, &loaded);
    dlclose(loaded.handle);
    ok = TAP_TRUE(!is_loaded()) && TAP_EQ(entries_told().count, before) && ok;
    for (int i = 0; i < 2; i++) {
        loaded = load_plugin();
        ok =
            TAP_TRUE(hooks_plugin(&new, &loaded)) && TAP_EQ(entries_told().count, before + 1) && ok;
        ok = TAP_TRUE(i || !carry_hook_detach(&old)) && TAP_EQ(loaded.add(1), 3) &&
             TAP_EQ(enters, 2) && ok;
        ok = TAP_EQ(carry_hook_detach(&new), CARRY_OK) && ok;
        dlclose(loaded.handle);
    }
    tap_ok(ok, "a plugin that was unloaded while hooked can be loaded again, twice");
}

/* --- Threads --- */

static volatile bool storm_over;

/*
 * Calls the hooked functions, and counts wrong results. Not inlined: without a PLT, the compiler
 * may keep the contents of slots in registers of a function.
 */
static __attribute__((noinline)) size_t call_some(void) {
    size_t wrong = 0;
    for (uint64_t i = 0; i < 100; i++) {
        wrong += callee_add(i, 5) != i + 5;
        wrong += callee_eight(1, 2, 3, 4, 5, 6, 7, 8) != 204;
        wrong += entry_add(i, 7) != i + 7;
    }
    return wrong;
}

static void *change_hooks(void *unused) {
    size_t wrong = 0;
    (void)unused;
    while (!storm_over)
        wrong += call_some();
    return (void *)wrong;
}

static size_t told; /* counted by callbacks that receive its address */

static void check_user(const struct carry_hook_place *place, struct carry_thunk_call *call,
                       void *user) {
    (void)place, (void)call;
    if (user != &told)
        abort();
    __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
}

static void check_other(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call;
    if (user != &enters)
        abort();
    __atomic_fetch_add(&enters, 1, __ATOMIC_RELAXED);
}

/* Waits until threads have called both hooks. */
static void wait_for_calls(void) {
    const size_t told_before = __atomic_load_n(&told, __ATOMIC_RELAXED);
    const size_t enters_before = __atomic_load_n(&enters, __ATOMIC_RELAXED);
    while (__atomic_load_n(&told, __ATOMIC_RELAXED) == told_before ||
           __atomic_load_n(&enters, __ATOMIC_RELAXED) == enters_before)
        sched_yield();
}

static void test_storm(size_t rounds) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t wrong = 0, errors = 0;
    start_counting();
    told = 0;
    storm_over = false;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, change_hooks, NULL);
    for (size_t i = 0; i < rounds; i++) {
        struct carry_hook a = {.object = "", .wants = wants_callees, .enter = check_user};
        struct carry_hook b = {.enter = check_other, .leave = count_leave, .user = &enters};
        a.user = &told;
        a.waits = b.waits = i % 2;
        errors += carry_hook_attach_calls(&a) != CARRY_OK;
        errors += carry_hook_attach_entry(&b, (any_function *)entry_add) != CARRY_OK;
        if (i % 16 == 0)
            wait_for_calls();
        errors += carry_hook_detach(&a) != CARRY_OK;
        errors += carry_hook_detach(&b) != CARRY_OK;
        b.object = "", b.symbol = "callee_eight"; /* the same stubs, for another function */
        errors += carry_hook_attach_calls(&b) != CARRY_OK;
        errors += carry_hook_detach(&b) != CARRY_OK;
    }
    storm_over = true;
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (size_t)result;
    }
    tap_note("%zu and %zu hooked calls, %zu leaves", told, enters, leaves);
    tap_ok(TAP_EQ(wrong, 0) && TAP_EQ(errors, 0) && TAP_TRUE(told) && TAP_TRUE(enters) &&
               TAP_LE(leaves, enters),
           "attached and detached %zu times while threads call: %zu wrong, %zu errors", rounds,
           wrong, errors);
}

/* --- Commits during which calls of the C library are hooked --- */

CARRY_KEY(branch_of_callback);
CARRY_KEY_DEFINE(branch_of_callback, false);

static bool commits_are_over;

static void run_branch(const struct carry_hook_place *place, struct carry_thunk_call *call,
                       void *user) {
    (void)place, (void)call, (void)user;
    if (carry_unlikely(branch_of_callback))
        __atomic_fetch_add(&enters, 1, __ATOMIC_RELAXED);
}

static void *run_branches(void *unused) {
    while (!__atomic_load_n(&commits_are_over, __ATOMIC_RELAXED))
        run_branch(NULL, NULL, NULL);
    return unused;
}

static bool is_by_plt(const struct carry_hook_place *place, void *user) {
    (void)user;
    return place->by_plt;
}

static bool commit_often(void) {
    bool ok = true;
    for (uintptr_t i = 0; i < 10000 && ok; i++) {
        struct carry_patch patch;
        carry_patch_begin(&patch);
        carry_patch_set(&patch, &carry_key_branch_of_callback, i % 2);
        ok = !carry_patch_commit(&patch);
    }
    return ok;
}

/*
 * Commits while the library's own calls are hooked, and the callbacks run a site that changes. A
 * callback must not run into a guard that its own thread has set, and must not run into any guard
 * while its thread handles a trap.
 */
static bool commits_under_hooks(void) {
    struct carry_hook hook = {.object = "", .wants = is_by_plt, .enter = run_branch};
    pthread_t thread;
    bool ok = !carry_hook_attach_calls(&hook) &&
              !pthread_create(&thread, NULL, run_branches, NULL) && commit_often();
    __atomic_store_n(&commits_are_over, true, __ATOMIC_RELAXED);
    return ok && !pthread_join(thread, NULL) && !carry_hook_detach(&hook);
}

static void test_commits(void) {
    tap_ok(child_says(NULL, commits_under_hooks), "callbacks can run a site while it is patched");
}

int main(int argc, char **argv) {
    plugin = argc > 1 ? argv[1] : "";
    bare = argc > 2 ? argv[2] : "";
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind runs the text that it read before");
    if (carry_thunk_prepare())
        return tap_skip_all("thunks are unsupported here");
    test_sandboxes();
    test_quiet();
    test_lists();
    test_unbound();
    test_nowhere();
    carry_patch_apply(0);
    test_values();
    test_registers();
    test_refused();
    test_slots();
    test_protection();
    test_foreign();
    test_many();
    test_stack_words();
    tap_ok(hook_stops_at_end(0), "words are copied up to the end of the stack");
    tap_ok(hook_stops_at_end(STACK_WORDS_MAX), "the maximum number of words is copied, too");
    test_nested();
    test_changes();
    test_word();
    test_calls_under_way();
    test_callback_under_way(false);
    test_callback_under_way(true);
    test_callback_in_fork();
    test_fork_in_callback();
    test_entries();
    test_calls_and_entries();
    test_places_that_go();
    test_plugin();
    test_scopes();
    test_plugin_again();
    test_commits();
    test_storm(effort->rounds / 50);
    return tap_done();
}
