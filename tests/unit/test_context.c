/* SPDX-License-Identifier: MIT */
/* Tests contexts as programs use them, on every architecture. */
#include <carry/context.h>

#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "harness/child.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define STACK_BYTES 65536
#define MANY        16

static unsigned char stacks[MANY][STACK_BYTES] __attribute__((aligned(64)));
static struct carry_context here;
static struct carry_context there[MANY];

/* --- Values --- */

static struct carry_context *add_one(void *argument, uintptr_t value) {
    uintptr_t *seen = argument;
    for (size_t i = 0; i < 3; i++) {
        seen[i] = value;
        value = carry_context_switch(&there[0], &here, value + 1);
    }
    return &here;
}

static void test_values(void) {
    uintptr_t seen[3] = {0};
    carry_context_adopt(&here, NULL, 0);
    bool ok = !carry_context_create(&there[0], stacks[0], STACK_BYTES, add_one, seen);
    for (uintptr_t i = 0; i < 3; i++)
        ok = ok && carry_context_switch(&here, &there[0], 10 * i) == 10 * i + 1;
    tap_ok(TAP_TRUE(ok) && TAP_EQ(seen[0], 0) && TAP_EQ(seen[1], 10) && TAP_EQ(seen[2], 20),
           "values are passed in both directions");
    tap_ok(TAP_TRUE(there[0].stack_pointer) &&
               TAP_EQ(carry_context_switch(&here, &there[0], 7), 0) &&
               TAP_TRUE(!there[0].stack_pointer),
           "a context that returns is finished, and the next one receives 0");
}

/* --- Refusals --- */

static void test_refusals(void) {
    static unsigned char area[16384] __attribute__((aligned(64)));
    struct carry_context context;
    size_t least = CARRY_CONTEXT_STACK_MIN;
    size_t needed = carry_context_area_size(0);
    tap_ok(
        TAP_EQ(carry_context_create(&context, stacks[0], least - 1, add_one, NULL),
               CARRY_ERROR_SIZE) &&
            TAP_EQ(carry_context_create(&context, stacks[0], 0, add_one, NULL), CARRY_ERROR_SIZE),
        "a stack that is too small is refused");
    tap_ok(
        TAP_EQ(carry_context_create(&context, NULL, least, add_one, NULL), CARRY_ERROR_INVALID) &&
            TAP_EQ(carry_context_create(&context, stacks[0], least, NULL, NULL),
                   CARRY_ERROR_INVALID),
        "a missing stack or function is refused");
    tap_ok(TAP_EQ(carry_context_create(&context, stacks[0] + 3, least, add_one, NULL), CARRY_OK) &&
               TAP_EQ((uintptr_t)context.stack_pointer % 16, 0) &&
               TAP_GE((unsigned char *)context.stack_pointer, stacks[0] + 3) &&
               TAP_LT((unsigned char *)context.stack_pointer, stacks[0] + 3 + least),
           "a stack at an odd address is accepted");
    tap_ok(TAP_EQ(carry_context_keep(&context, area, needed - 1, 0), CARRY_ERROR_SIZE),
           "an area that is too small is refused");
    tap_ok(TAP_EQ(carry_context_keep(&context, area + 8, sizeof area - 8, 0), CARRY_ERROR_INVALID),
           "an unaligned area is refused");
    tap_ok(TAP_EQ(carry_context_keep(&context, area, needed, 0), CARRY_OK) &&
               TAP_EQ(needed % 64, 0),
           "an area that fits is accepted");
}

/* --- Many contexts, in any order --- */

struct walker {
    size_t self;
    size_t visits;
    size_t left;
    bool ok;
};

static struct walker walkers[MANY];

/*
 * Changes a value in a function unknown to the compiler: values are then kept in callee-saved
 * registers, including vector registers.
 */
static double scrambled_value(double value) {
    return value * 1.25 + 1;
}
static double (*volatile scramble)(double) = scrambled_value;

static struct carry_context *walk_at_random(void *argument, uintptr_t value) {
    struct walker *walker = argument;
    unsigned char local[256];
    memset(local, (int)walker->self, sizeof local);
    uint64_t a = walker->self * 11, b = walker->self * 13, c = walker->self * 17;
    double d = (double)walker->self;
    while (walker->left--) {
        size_t next = rng_below(MANY + 1);
        struct carry_context *to = next == MANY ? &here : &there[next];
        double e = scramble(d);
        if (to != &there[walker->self] && to->stack_pointer)
            value = carry_context_switch(&there[walker->self], to, value + 1);
        walker->visits++;
        walker->ok = walker->ok && e == scramble(d) && a == walker->self * 11 &&
                     b == walker->self * 13 && c == walker->self * 17;
        for (size_t i = 0; i < sizeof local; i++)
            walker->ok = walker->ok && local[i] == walker->self;
    }
    return &here;
}

static void test_many(const struct effort *effort) {
    bool ok = true;
    size_t visits = 0;
    for (size_t i = 0; i < MANY; i++) {
        walkers[i] = (struct walker){.self = i, .left = effort->rounds * 10, .ok = true};
        ok = ok &&
             !carry_context_create(&there[i], stacks[i], STACK_BYTES, walk_at_random, &walkers[i]);
    }
    for (size_t i = 0; i < MANY; i++)
        while (there[i].stack_pointer)
            carry_context_switch(&here, &there[i], 0);
    for (size_t i = 0; i < MANY; i++) {
        ok = ok && walkers[i].ok;
        visits += walkers[i].visits;
    }
    tap_ok(TAP_TRUE(ok) && TAP_EQ(visits, MANY * effort->rounds * 10),
           "%d contexts switch at random", MANY);
}

/* --- The initial state of a context --- */

struct start {
    uintptr_t stack;
    int rounding;
};

static struct carry_context *look_at_frame(void *argument, uintptr_t value) {
    struct start *start = argument;
    (void)value;
    start->stack = (uintptr_t)__builtin_frame_address(0);
    start->rounding = fegetround();
    fesetround(FE_DOWNWARD);
    return &here;
}

static void test_start(void) {
    struct start start;
    bool ok = !carry_context_create(&there[0], stacks[0], STACK_BYTES, look_at_frame, &start);
    fesetround(FE_UPWARD);
    carry_context_switch(&here, &there[0], 0);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(start.rounding, FE_TONEAREST),
           "a context starts with rounding to nearest");
    tap_ok(TAP_EQ(fegetround(), FE_UPWARD), "each context has its own rounding mode");
    fesetround(FE_TONEAREST);
    tap_ok(TAP_EQ(start.stack % 16, 0), "the stack is aligned as for calls");
}

/* --- Unwinding --- */

struct trace {
    size_t frames;
    uintptr_t last;
    bool ended;
};

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *frame, void *argument) {
    struct trace *trace = argument;
    trace->last = _Unwind_GetIP(frame);
    return ++trace->frames < 64 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static struct carry_context *trace_here(void *argument, uintptr_t value) {
    struct trace *trace = argument;
    (void)value;
    trace->ended = _Unwind_Backtrace(count_frame, trace) == _URC_END_OF_STACK;
    return &here;
}

static void test_unwinding(void) {
    struct trace trace = {0};
    memset(stacks[0], 0x5a, STACK_BYTES);
    bool ok = !carry_context_create(&there[0], stacks[0], STACK_BYTES, trace_here, &trace);
    carry_context_switch(&here, &there[0], 0);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(trace.ended) && TAP_EQ(trace.last, 0) &&
               TAP_LE(trace.frames, 3),
           "unwinding ends where the context starts");
}

/* --- Threads --- */

static struct carry_context *count_up(void *argument, uintptr_t value) {
    size_t *count = argument;
    struct carry_context *back = (struct carry_context *)value;
    while (++*count < 100)
        back = (struct carry_context *)carry_context_switch(&there[0], back, 0);
    return back;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *argument) {
    struct carry_context own;
    (void)argument;
    carry_context_adopt(&own, NULL, 0);
    for (bool done = false; !done;) {
        pthread_mutex_lock(&turn);
        done = !there[0].stack_pointer;
        if (!done)
            carry_context_switch(&own, &there[0], (uintptr_t)&own);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[3];
    size_t count = 0;
    bool ok = !carry_context_create(&there[0], stacks[0], STACK_BYTES, count_up, &count);
    for (size_t i = 0; i < 3; i++)
        ok = ok && !pthread_create(&threads[i], NULL, take_turns, NULL);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(count, 100), "threads can resume a context in turn");
}

/* --- Fork --- */

static struct carry_context *fork_here(void *argument, uintptr_t value) {
    pid_t *child = argument;
    (void)value;
    *child = fork();
    carry_context_switch(&there[0], &here, 0);
    return &here;
}

static void test_fork(void) {
    pid_t child = -1;
    int status = -1;
    bool ok = !carry_context_create(&there[0], stacks[0], STACK_BYTES, fork_here, &child);
    carry_context_switch(&here, &there[0], 0);
    carry_context_switch(&here, &there[0], 0);
    if (child == 0)
        _exit(there[0].stack_pointer ? 1 : 7);
    tap_ok(TAP_TRUE(ok) && TAP_GT(child, 0) && TAP_EQ(waitpid(child, &status, 0), child) &&
               TAP_EQ(WEXITSTATUS(status), 7),
           "parent and child continue in the same context");
}

/* --- Mistakes --- */

static struct carry_context *go_nowhere(void *argument, uintptr_t value) {
    (void)argument;
    (void)value;
    return NULL;
}

static bool survives_nowhere(void) {
    carry_context_create(&there[0], stacks[0], STACK_BYTES, go_nowhere, NULL);
    carry_context_switch(&here, &there[0], 0);
    return true;
}

static bool survives_finished(void) {
    struct start start;
    carry_context_create(&there[0], stacks[0], STACK_BYTES, look_at_frame, &start);
    carry_context_switch(&here, &there[0], 0);
    carry_context_switch(&here, &there[0], 0);
    return true;
}

int main(void) {
    const struct effort *effort = effort_chosen();
    struct carry_context context;
    effort_note(effort);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind confuses stacks that are near each other");
    rng_restart();
    if (carry_context_create(&context, stacks[0], STACK_BYTES, add_one, NULL) ==
        CARRY_ERROR_UNSUPPORTED) {
        tap_ok(TAP_EQ(carry_context_preempt(&here, &there[0], &context), CARRY_ERROR_UNSUPPORTED),
               "preemption is unsupported");
        tap_skip("contexts", "there are none on this architecture, or under a shadow stack");
        return tap_done();
    }
    test_values();
    test_refusals();
    test_many(effort);
    test_start();
    test_unwinding();
    test_threads();
    test_fork();
    tap_ok(!child_says(NULL, survives_nowhere), "a return to no context traps");
    tap_ok(!child_says(NULL, survives_finished), "a switch to a finished context faults");
    return tap_done();
}
