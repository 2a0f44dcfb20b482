/* SPDX-License-Identifier: MIT */
/* Tests contexts of x86-64: every register, through switches and through signals. */
#include <carry/cpu.h>
#include <carry/image.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "harness/check_context.h"
#include "harness/child.h"
#include "harness/context_x86_64.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/replay.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

static unsigned char stacks[2][65536] __attribute__((aligned(64)));
static unsigned char areas[3][16384] __attribute__((aligned(64)));
static struct carry_context here;
static struct carry_context there[2];

/* --- Switches --- */

static const struct keeping {
    const char *name;
    uint64_t mask;
} keepings[] = {
    {"nothing", 0},
    {"SSE", BIT(SSE)},
    {"x87", BIT(X87)},
    {"AVX", BIT(AVX)},
    {"SSE and AVX", BIT(SSE) | BIT(AVX)},
    {"masks", BIT(OPMASK)},
    {"all vectors", CHECKED_COMPONENTS & ~BIT(X87)},
    {"everything", CHECKED_COMPONENTS},
};

/* Checks with all combinations of the CPU's components in use; a replay tries only some. */
static struct verdict check_keeping(const struct keeping *keeping) {
    const uint64_t all = CHECKED_COMPONENTS & carry_xstate_enabled();
    struct verdict verdict = {.ok = true};
    uint64_t dirty = all;
    do {
        if (!replay_leaves_out(16))
            verdict =
                check_context_ring(&context_calls, keeping->mask, dirty, replay_is_on() ? 2 : 8);
        dirty = (dirty - 1) & all;
    } while (verdict.ok && dirty != all);
    return verdict;
}

static void test_switches(void) {
    for (size_t i = 0; i < sizeof keepings / sizeof *keepings; i++) {
        struct verdict verdict = check_keeping(&keepings[i]);
        verdict_report(&verdict, "switches that keep %s", keepings[i].name);
    }
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (!(carry_xstate_enabled() >> i & 1) && (CHECKED_COMPONENTS | BIT(TILEDATA)) >> i & 1)
            tap_skip(carry_xstate_name(i), "this CPU has none, or may not use it");
}

/* Returns whether all rings work. If a feature is masked, another instruction saves registers. */
static bool ring_works(void) {
    for (size_t i = 0; i < sizeof keepings / sizeof *keepings; i++)
        if (!check_keeping(&keepings[i]).ok)
            return false;
    return true;
}

static void test_older(void) {
    static const char *const masks[] = {"xgetbv1", "xsavec", "avx512f", "avx", "xsave"};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        tap_ok(child_says(masks[i], ring_works), "switches without %s", masks[i]);
}

/* --- The initial state of a context --- */

struct start {
    uint64_t in_use;
    bool initial_x87;
    uint32_t mxcsr;
    uint16_t fcw;
};

static struct carry_context *trace_frame(void *argument, uintptr_t value) {
    struct start *start = argument;
    struct carry_xstate_layout layout;
    (void)value;
    start->in_use = carry_xstate_in_use();
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(start->mxcsr), "=m"(start->fcw));
    carry_xstate_layout(&layout);
    carry_xstate_save(areas[1], BIT(X87));
    start->initial_x87 = carry_xstate_image_is_initial(&layout, areas[1], CARRY_XSTATE_X87);
    return &here;
}

/* Starts a context from one that has all components in use, and another rounding mode. */
static struct start start_state(uint64_t mask) {
    static struct context_probe probe;
    struct carry_xstate_layout layout;
    struct start start;
    const uint16_t fcw = 0xf7f;
    const uint32_t mxcsr = 0x7f80;
    carry_xstate_layout(&layout);
    uint64_t all = layout.user & CHECKED_COMPONENTS;
    memset(&probe, 0, sizeof probe);
    memset(probe.before.image + 32, 0x55, sizeof probe.before.image - 32);
    memset(probe.before.image + 512, 0, 64);
    memcpy(probe.before.image + 512, &all, sizeof all);
    memcpy(probe.before.image, &fcw, sizeof fcw);
    memcpy(probe.before.image + 24, &mxcsr, sizeof mxcsr);
    carry_context_adopt(&here, NULL, 0);
    carry_context_create(&there[0], stacks[0], sizeof stacks[0], trace_frame, &start);
    carry_context_keep(&there[0], areas[0], sizeof areas[0], mask);
    probe.components = all;
    probe.function = (void *)carry_context_switch;
    probe.arguments[0] = (uintptr_t)&here;
    probe.arguments[1] = (uintptr_t)&there[0];
    replay_start();
    context_probe_call(&probe);
    replay_stop();
    return start;
}

/*
 * Returns whether the CPU tracks which components are in use. Emulators, and some CPUs, report all
 * components as in use.
 */
static bool tells_use(void) {
    carry_xstate_clean(CARRY_XSTATE_CLEAN_VECTORS);
    return carry_cpu_has("xgetbv1") && carry_cpu_has("avx") &&
           !(carry_xstate_in_use() & (BIT(AVX) | BIT(ZMM_HI256) | BIT(HI16_ZMM)));
}

static void test_start(void) {
    struct start plain = start_state(0);
    struct start full = start_state(CHECKED_COMPONENTS);
    tap_ok(TAP_EQ(plain.mxcsr, 0x1f80) && TAP_EQ(plain.fcw, 0x37f) && TAP_EQ(full.mxcsr, 0x1f80) &&
               TAP_EQ(full.fcw, 0x37f),
           "a context starts with MXCSR 0x1f80 and FCW 0x37f");
    if (!tells_use()) {
        tap_skip("what is in use when a context starts", "this CPU does not track use");
        return;
    }
    tap_ok(!(plain.in_use & (BIT(AVX) | BIT(ZMM_HI256))),
           "a context starts with clean upper halves");
    /* A CPU may count FLDCW as use of x87, whatever value it loads. */
    tap_ok(TAP_TRUE(full.initial_x87) &&
               TAP_TRUE(!(full.in_use & CHECKED_COMPONENTS & ~(BIT(SSE) | BIT(X87)))),
           "the components that a context keeps start with initial values");
}

/* --- Signals --- */

/* Volatile, because the compiler assumes that raise() calls no function of this file. */
static struct carry_context *volatile interrupted = &there[0];
static volatile int preempted_to = 1; /* the result of carry_context_preempt() */

HANDLER static void on_signal(int number, siginfo_t *info, void *ucontext) {
    (void)number;
    (void)info;
    preempted_to = carry_context_preempt(interrupted, &there[1], ucontext);
}

/*
 * Calls kill(process, signal), with a frame that unwinders find through rbp, and with a red zone
 * that contains no address: an unwinder that reads rbp from there fails.
 */
void kill_by_frame(long process, long signal);
__asm__(".pushsection .text\n"
        ".type kill_by_frame, @function\n"
        "kill_by_frame:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rbp\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset rbp, -16\n\t"
        "movq %rsp, %rbp\n\t"
        ".cfi_def_cfa_register rbp\n\t"
        "movabsq $0x5555555555555555, %rax\n\t"
        "movq $-16, %rcx\n"
        "1:\tmovq %rax, (%rsp, %rcx, 8)\n\t"
        "incq %rcx\n\t"
        "jnz 1b\n\t"
        "movl $62, %eax\n\t"
        "syscall\n\t"
        "popq %rbp\n\t"
        ".cfi_def_cfa rsp, 8\n\t"
        ".cfi_restore rbp\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size kill_by_frame, . - kill_by_frame\n\t"
        ".popsection");

static struct carry_context *raise_once(void *argument, uintptr_t value) {
    (void)argument;
    (void)value;
    kill_by_frame(getpid(), SIGUSR1);
    return &here;
}

static struct carry_context *return_here(void *argument, uintptr_t value) {
    (void)argument;
    return value == 0 ? &here : NULL;
}

/* Returns the result of a preemption: an error if the signal frame lacks the CPU's state. */
static int try_preemption(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    carry_context_adopt(&here, NULL, 0);
    carry_context_create(&there[0], stacks[0], sizeof stacks[0], raise_once, NULL);
    carry_context_create(&there[1], stacks[1], sizeof stacks[1], return_here, NULL);
    carry_context_keep(&there[0], areas[0], sizeof areas[0], 0);
    carry_context_switch(&here, &there[0], 0);
    return preempted_to;
}

static void test_preemption(void) {
    tap_ok(TAP_EQ(try_preemption(), CARRY_OK) && TAP_TRUE(!there[1].stack_pointer),
           "a signal handler switches to another context");
    carry_context_switch(&here, &there[0], 0);
    tap_ok(!there[0].stack_pointer, "the interrupted context continues");
    carry_context_create(&there[1], stacks[1], sizeof stacks[1], return_here, NULL);
    carry_context_keep(&here, areas[2], sizeof areas[2], 0);
    interrupted = &here;
    raise(SIGUSR1);
    interrupted = &there[0];
    tap_ok(TAP_EQ(preempted_to, CARRY_OK) && TAP_TRUE(!there[1].stack_pointer),
           "the thread itself continues; its stack is unknown");
}

static int refusal_of(struct carry_context *from, struct carry_context *to, uint64_t rip,
                      uint64_t rsp) {
    static unsigned char image[16384] __attribute__((aligned(64)));
    struct carry_xstate_layout layout;
    struct carry_context_registers registers = {.rip = rip, .rsp = rsp};
    const uint64_t used = BIT(X87) | BIT(SSE) | BIT(AVX);
    carry_xstate_layout(&layout);
    memcpy(image + 512, &used, sizeof used);
    struct carry_context_registers before = registers;
    int error = carry_context_exchange(from, to, &registers, image,
                                       layout.user ? layout.user : BIT(X87) | BIT(SSE));
    return error && memcmp(&before, &registers, sizeof before) ? 1 : error;
}

static void test_refusals(void) {
    struct carry_context *a = &there[0];
    struct carry_context *b = &there[1];
    uint64_t top = (uintptr_t)(stacks[0] + sizeof stacks[0]) - 64;
    uint64_t bottom = (uintptr_t)stacks[0];
    carry_context_create(a, stacks[0], sizeof stacks[0], raise_once, NULL);
    carry_context_create(b, stacks[1], sizeof stacks[1], return_here, NULL);
    tap_ok(TAP_EQ(refusal_of(a, b, 0, top), CARRY_ERROR_SIZE),
           "a preemption without an area is refused");
    carry_context_keep(a, areas[0], carry_context_area_size(0), 0);
    if (carry_xstate_enabled() & BIT(AVX))
        tap_ok(TAP_EQ(refusal_of(a, b, 0, top), CARRY_ERROR_SIZE),
               "an area that is too small for AVX is refused");
    else
        tap_skip("an area that is too small for AVX is refused", "no AVX");
    carry_context_keep(a, areas[0], sizeof areas[0], 0);
    tap_ok(TAP_EQ(refusal_of(a, a, 0, top), CARRY_ERROR_INVALID),
           "a preemption to the same context is refused");
    struct carry_context finished = *b;
    finished.stack_pointer = NULL;
    tap_ok(TAP_EQ(refusal_of(a, &finished, 0, top), CARRY_ERROR_INVALID),
           "a preemption to a finished context is refused");
    tap_ok(TAP_EQ(refusal_of(a, b, (uintptr_t)carry_context_switch + 8, top), CARRY_ERROR_BUSY),
           "a preemption during a switch is refused");
    tap_ok(TAP_EQ(refusal_of(a, b, 0, (uintptr_t)stacks[1] + 8), CARRY_ERROR_BUSY) &&
               TAP_EQ(refusal_of(a, b, 0, bottom - 8), CARRY_ERROR_BUSY),
           "a preemption on another stack is refused");
    tap_ok(TAP_EQ(refusal_of(a, b, 0, bottom + 200), CARRY_ERROR_SIZE),
           "a preemption without room on the stack is refused");
    if (fault_under_asan()) {
        tap_skip("preempted contexts",
                 "a switch that does not happen would be reported to the sanitizer");
        return;
    }
    tap_ok(TAP_EQ(refusal_of(a, b, 0, bottom + 4096), CARRY_OK) &&
               TAP_EQ(carry_context_keep(a, areas[1], sizeof areas[1], 0), CARRY_ERROR_INVALID),
           "a preempted context keeps its area");
    tap_ok(TAP_EQ(refusal_of(b, a, 0, (uintptr_t)stacks[1] + 4096), CARRY_ERROR_SIZE),
           "a refusal leaves a preempted context unchanged");
}

static void test_storms(const struct effort *effort) {
    unsigned rounds = effort->rounds > 100 ? 300 : 20;
    static const struct storm_options kinds[] = {
        {1, 2, 0, 0, true},
        {1, 2, 0, 0, false},
        {1, 8, 0, CHECKED_COMPONENTS, true},
        {1, 5, 0, BIT(SSE) | BIT(AVX), false},
        {4, 4, 0, CHECKED_COMPONENTS & ~BIT(X87), true},
        {4, 3, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct storm_options options = kinds[i];
        options.rounds = rounds;
        struct verdict verdict = check_context_storm(&context_calls, &options);
        verdict_report(&verdict, "signals in %u threads of %u contexts, mask %#llx, %s",
                       options.threads, options.contexts, (unsigned long long)options.mask,
                       options.own_stack ? "handlers on their own stack"
                                         : "handlers on the stacks of contexts");
    }
}

/* --- Unwinding --- */

static struct {
    unsigned steps;
    unsigned broken;
} trace;

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *frame, void *argument) {
    *(uintptr_t *)argument = _Unwind_GetIP(frame);
    return _URC_NO_REASON;
}

/*
 * Returns whether unwinding ends at the function that is marked as having no caller. A wrong return
 * address is in no function, and would end the unwinding, too.
 */
static bool unwinds_to_end(void) {
    uintptr_t last = 1;
    return _Unwind_Backtrace(note_frame, &last) == _URC_END_OF_STACK && last == 0;
}

/* Defined at the end of switch.S: the short code that starts contexts. */
void carry_context_start(void);

static bool is_of_switch(uintptr_t address) {
    return address >= (uintptr_t)carry_context_switch &&
           address < (uintptr_t)carry_context_start + 64;
}

/* Unwinds at each instruction. */
HANDLER static void on_trap(int number, siginfo_t *info, void *ucontext) {
    (void)number;
    (void)info;
    if (is_of_switch((uintptr_t)((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP])) {
        trace.steps++;
        trace.broken += !unwinds_to_end();
    }
}

/* Sets or clears the trap flag, TF. Compilers push and pop flags without describing this to
   unwinders. */
void set_stepping(bool on);
__asm__(".pushsection .text\n"
        ".type set_stepping, @function\n"
        "set_stepping:\n\t"
        ".cfi_startproc\n\t"
        "shll $8, %edi\n\t"
        "pushfq\n\t"
        ".cfi_adjust_cfa_offset 8\n\t"
        "andl $~0x100, (%rsp)\n\t"
        "orl %edi, (%rsp)\n\t"
        "popfq\n\t"
        ".cfi_adjust_cfa_offset -8\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size set_stepping, . - set_stepping\n\t"
        ".popsection");

static struct carry_context *preempt_back(void *argument, uintptr_t value) {
    (void)argument;
    (void)value;
    carry_context_switch(&there[0], &here, 0);
    return &here;
}

/*
 * Unwinds at each instruction of switches: to a context and back, to the same context until it
 * ends, and to a context that a signal has interrupted.
 */
static void test_unwinding(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    struct sigaction old;
    bool ok = unwinds_to_end(); /* the first unwinding loads its tables */
    sigaction(SIGTRAP, &action, &old);
    carry_context_create(&there[0], stacks[0], sizeof stacks[0], preempt_back, NULL);
    carry_context_keep(&there[0], areas[0], sizeof areas[0], CHECKED_COMPONENTS);
    set_stepping(true);
    carry_context_switch(&here, &there[0], 0);
    carry_context_switch(&here, &there[0], 0);
    set_stepping(false);
    unsigned steps = trace.steps;
    if (try_preemption() == CARRY_OK) {
        set_stepping(true);
        carry_context_switch(&here, &there[0], 0);
        set_stepping(false);
    }
    sigaction(SIGTRAP, &old, NULL);
    if (steps < 100)
        tap_skip("unwinding at each instruction", "no trap flag");
    else
        tap_ok(TAP_TRUE(ok) && TAP_EQ(trace.broken, 0),
               "unwinding works at each of %u instructions", trace.steps);
}

static bool storm_works(void) {
    const struct storm_options options = {1, 4, 20, CHECKED_COMPONENTS, true};
    return check_context_storm(&context_calls, &options).ok;
}

int main(int argc, char **argv) {
    const struct effort *effort = effort_chosen();
    const char *reason = argc ? replay_choose(argv[1]) : NULL;
    if (reason)
        return tap_skip_all(reason);
    effort_note(effort);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind confuses stacks that are near each other");
    test_older();
    if (carry_context_create(&there[0], stacks[0], sizeof stacks[0], trace_frame, NULL)) {
        tap_skip("contexts", "the thread has a shadow stack");
        return tap_done();
    }
    test_switches();
    test_start();
    if (replay_is_on()) {
        tap_skip("signals", "the signal frames are those of this CPU, not of the replayed one");
        return tap_done();
    }
    if (try_preemption() == CARRY_ERROR_UNSUPPORTED) {
        tap_skip("preemption", "signal frames do not contain the state of the CPU");
        return tap_done();
    }
    test_preemption();
    test_unwinding();
    test_refusals();
    test_storms(effort);
    tap_ok(child_says("xsavec,xgetbv1", storm_works), "signals without XSAVEC");
    return tap_done();
}
