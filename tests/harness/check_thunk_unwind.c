/* SPDX-License-Identifier: MIT */
/* Makes backtraces from a signal handler at each instruction, as a profiler does. */
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "harness/check_thunk.h"

#define STEPS_MAX  65536
#define ENTRY_SIZE 4096 /* about the size of all thunks together */

/* Registers that calls preserve: their DWARF numbers, and the values from check_thunk_step(). */
static const struct {
    int number;
    uint64_t value;
} kept[] = {{3, 0x1b}, {6, 0x1e}, {12, 0x12}, {13, 0x13}, {14, 0x14}, {15, 0x15}};

static struct {
    uint64_t stack_pointer; /* in check_thunk_step() at the call */
    const char *failed_at;
    const char *failure;
    size_t stops;
} steps;

static bool stopped_at[ENTRY_SIZE];

struct search {
    bool found;
    const char *failure;
};

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *data) {
    struct search *search = data;
    if (_Unwind_GetIP(context) != (uintptr_t)check_thunk_step_return)
        return _URC_NO_REASON;
    search->found = true;
    search->failure = NULL;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (_Unwind_GetGR(context, kept[i].number) != kept[i].value)
            search->failure = "finds another value in a register";
    if (_Unwind_GetCFA(context) !=
        steps.stack_pointer) /* the CFA of the callee is the rsp of this frame */
        search->failure = "finds another stack pointer";
    return _URC_END_OF_STACK;
}

static void count_step(uintptr_t address) {
    uintptr_t offset = address - (uintptr_t)carry_thunk_enter;
    if (offset < ENTRY_SIZE)
        stopped_at[offset] = true;
}

static void on_thunk_step(int signal, siginfo_t *info, void *data) {
    (void)signal, (void)info;
    const ucontext_t *context = data;
    const uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    /* Outside the call, a backtrace need not find the caller. */
    const bool inside =
        context->uc_mcontext.gregs[REG_RSP] < (greg_t)steps.stack_pointer &&
        (at < (uintptr_t)check_thunk_step_return || at >= (uintptr_t)check_thunk_step_end);
    struct search search = {.failure = "does not find the caller"};
    if (!inside || steps.failure || steps.stops++ > STEPS_MAX)
        return;
    count_step(at);
    _Unwind_Backtrace(visit_frame, &search);
    if (!search.failure)
        return;
    steps.failed_at = (const char *)at;
    steps.failure = search.failure;
}

static void ignore_call(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
}

static void stepped_target(void) {
}

/* Makes the unwinder load its libraries and take its locks before the checked calls. */
static void warm_up(void) {
    struct search search = {.found = false};
    _Unwind_Backtrace(visit_frame, &search);
}

struct verdict check_thunk_unwind(const void *entry, bool any) {
    struct verdict verdict = {.ok = true};
    struct sigaction action = {.sa_sigaction = on_thunk_step, .sa_flags = SA_SIGINFO}, before;
    check_thunk_entry = entry;
    check_thunk_descriptor = (struct carry_thunk){.enter = ignore_call,
                                                  .leave = ignore_call,
                                                  .target = (const void *)stepped_target,
                                                  .stack_words = 3};
    memset(&steps, 0, sizeof steps);
    warm_up();
    sigaction(SIGTRAP, &action, &before);
    check_thunk_step(any ? check_thunk_stub_any : check_thunk_stub, &steps.stack_pointer);
    sigaction(SIGTRAP, &before, NULL);
    if (steps.failure)
        verdict_fail(&verdict, "a backtrace %s, %td bytes after carry_thunk_enter", steps.failure,
                     steps.failed_at - carry_thunk_enter);
    else if (!steps.stops)
        verdict_fail(&verdict, "no instruction was seen");
    return verdict;
}

size_t check_thunk_steps(void) {
    size_t count = 0;
    for (size_t i = 0; i < ENTRY_SIZE; i++)
        count += stopped_at[i];
    return count;
}
