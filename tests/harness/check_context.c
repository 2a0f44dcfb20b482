/* SPDX-License-Identifier: MIT */
#include "harness/check_context.h"

#include <carry/cpu.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness/context_x86_64.h"
#include "harness/replay.h"
#include "harness/rng.h"

#define STACK_BYTES  32768
#define AREA_BYTES   16384
#define CONTEXTS_MAX 8
#define THREADS_MAX  4
#define FLAGS        UINT64_C(0xcd5) /* CF, PF, AF, ZF, SF, DF, OF */
#define DIRECTION    UINT64_C(0x400)
#define ALWAYS_SET   UINT64_C(0x202)

const struct context_calls context_calls = {carry_context_switch, carry_context_preempt};

struct unit {
    struct carry_context context;
    struct context_probe probe;
    unsigned char area[AREA_BYTES] __attribute__((aligned(64)));
    unsigned char stack[STACK_BYTES] __attribute__((aligned(64)));
    uint64_t random;
    size_t number;
    void *group;
};

/* --- Patterns --- */

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill_random(uint64_t *state, void *to, size_t size) {
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(next_random(state) >> 24);
}

/*
 * Varies rounding and precision; all exceptions remain masked. Sets an FCW that is not initial
 * only if `x87` is in use.
 */
static void fill_control(uint64_t *state, unsigned char *image, bool x87) {
    uint64_t random = next_random(state);
    uint16_t fcw = x87 ? (uint16_t)(0x7f | (random & 0xc00) | 0x200 | (random & 0x100)) : 0x37f;
    uint32_t mxcsr = 0x1f80 | (uint32_t)(random >> 16 & 0xe03f);
    memcpy(image, &fcw, sizeof fcw);
    memcpy(image + 24, &mxcsr, sizeof mxcsr);
}

static void fill_x87(uint64_t *state, unsigned char *image) {
    image[4] = 0xff; /* all registers hold values */
    for (size_t i = 0; i < 8; i++)
        fill_random(state, image + 32 + 16 * i, 10);
}

static void fill_image(uint64_t *state, unsigned char *image, uint64_t dirty) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    memset(image, 0, STATE_BYTES - STATE_IMAGE);
    fill_control(state, image, dirty & CARRY_XSTATE_BIT(X87));
    if (dirty & CARRY_XSTATE_BIT(X87))
        fill_x87(state, image);
    if (dirty & CARRY_XSTATE_BIT(SSE))
        fill_random(state, image + 160, 256);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (dirty >> i & 1)
            fill_random(state, image + layout.parts[i].offset, layout.parts[i].size);
    if (layout.user)
        memcpy(image + 512, &dirty, sizeof dirty);
}

static void fill_probe(struct unit *unit, uint64_t dirty) {
    struct context_state *before = &unit->probe.before;
    fill_random(&unit->random, before->registers, sizeof before->registers);
    fill_random(&unit->random, before->red_zone, sizeof before->red_zone);
    before->flags = (next_random(&unit->random) & FLAGS) | ALWAYS_SET;
    fill_image(&unit->random, before->image, dirty);
    memset(&unit->probe.after, 0, sizeof unit->probe.after);
}

/* --- Comparison --- */

static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
                                    "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* rbx, rbp, r12 to r15. */
#define SAVED_REGISTERS 0x7842u
#define ALL_REGISTERS   0x7ffbu /* except rcx: it is a counter */

static bool compare_field(struct verdict *verdict, const struct context_probe *probe, size_t offset,
                          size_t size, const char *what) {
    return !memcmp(probe->before.image + offset, probe->after.image + offset, size) ||
           verdict_fail(verdict, "%s differs; ", what);
}

static void compare_image(struct verdict *verdict, const struct context_probe *probe,
                          uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    compare_field(verdict, probe, 0, 2, "FCW");
    compare_field(verdict, probe, 24, 4, "MXCSR");
    if (mask & CARRY_XSTATE_BIT(X87)) {
        compare_field(verdict, probe, 2, 3, "x87's state");
        for (size_t i = 0; i < 8; i++)
            compare_field(verdict, probe, 32 + 16 * i, 10, "an x87 register");
    }
    if (mask & CARRY_XSTATE_BIT(SSE))
        compare_field(verdict, probe, 160, 256, "SSE");
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1)
            compare_field(verdict, probe, layout.parts[i].offset, layout.parts[i].size,
                          carry_xstate_name(i));
}

static void compare_registers(struct verdict *verdict, const struct context_probe *probe,
                              unsigned mask) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mask >> i & 1 && probe->before.registers[i] != probe->after.registers[i])
            verdict_fail(verdict, "%s differs; ", names[i]);
}

/* --- A ring --- */

struct ring {
    struct carry_context start;
    struct unit units[CONTEXTS_MAX];
    uint64_t mask;
    uint64_t dirty;
    unsigned rounds;
    struct verdict verdict;
};

#define RING   4
#define UPPERS (CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(ZMM_HI256))

static struct carry_context *follower_of(struct ring *ring, size_t number) {
    return number + 1 < RING ? &ring->units[number + 1].context : &ring->start;
}

/*
 * Checks that upper halves that are not kept are zero. XGETBV(1) cannot show whether they were in
 * use: it was read too late.
 */
static void check_clean(struct ring *ring, const struct context_probe *probe) {
    struct carry_xstate_layout layout;
    const unsigned char *image = probe->after.image;
    carry_xstate_layout(&layout);
    for (unsigned i = CARRY_XSTATE_AVX; i <= CARRY_XSTATE_ZMM_HI256 && carry_cpu_has("avx"); i++)
        if (UPPERS >> i & 1 & ~(ring->mask >> i) && carry_xstate_enabled() >> i & 1)
            for (uint32_t byte = 0; byte < layout.parts[i].size; byte++)
                if (image[layout.parts[i].offset + byte])
                    verdict_fail(&ring->verdict, "%s is dirty; ", carry_xstate_name(i));
}

static struct carry_context *run_in_ring(void *argument, uintptr_t value) {
    struct unit *unit = argument;
    struct ring *ring = unit->group;
    struct context_probe *probe = &unit->probe;
    (void)value;
    replay_stop(); /* the context that switched to this one called replay_start() */
    for (unsigned i = 0; i < ring->rounds && ring->verdict.ok; i++) {
        fill_probe(unit, ring->dirty);
        probe->arguments[0] = (uintptr_t)&unit->context;
        probe->arguments[1] = (uintptr_t)&ring->units[(unit->number + 1) % RING].context;
        probe->arguments[2] = i;
        replay_start();
        context_probe_call(probe);
        replay_stop();
        compare_registers(&ring->verdict, probe, SAVED_REGISTERS);
        compare_image(&ring->verdict, probe, ring->mask);
        check_clean(ring, probe);
        if (probe->after.flags & DIRECTION)
            verdict_fail(&ring->verdict, "the direction flag is set; ");
    }
    replay_start(); /* for the switch to the next context, at the end */
    return follower_of(ring, unit->number);
}

static bool make_unit(struct unit *unit, void *group, size_t number, carry_context_fn *entry,
                      uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    unit->group = group;
    unit->number = number;
    unit->random = (rng_seed() + number) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    unit->probe.components = layout.user & CHECKED_COMPONENTS;
    return !carry_context_create(&unit->context, unit->stack, sizeof unit->stack, entry, unit) &&
           !carry_context_keep(&unit->context, unit->area, sizeof unit->area, mask);
}

struct verdict check_context_ring(const struct context_calls *calls, uint64_t mask, uint64_t dirty,
                                  unsigned rounds) {
    static struct ring ring;
    /* Upper halves are kept or dropped together. */
    ring.mask = (mask & UPPERS ? mask | UPPERS : mask) & carry_xstate_enabled();
    ring.dirty = dirty & carry_xstate_enabled() & CHECKED_COMPONENTS;
    ring.rounds = rounds;
    ring.verdict = (struct verdict){.ok = true};
    carry_context_adopt(&ring.start, NULL, 0);
    for (size_t i = 0; i < RING; i++) {
        if (!make_unit(&ring.units[i], &ring, i, run_in_ring, mask))
            verdict_fail(&ring.verdict, "not made");
        ring.units[i].probe.function = (void *)calls->go;
    }
    replay_start();
    if (ring.verdict.ok)
        carry_context_switch(&ring.start, &ring.units[0].context, 0);
    replay_stop();
    return ring.verdict;
}

/* --- A storm --- */

struct storm {
    const struct context_calls *calls;
    const struct storm_options *options;
    struct carry_context start;
    struct carry_context *current; /* NULL: must not be preempted */
    struct unit units[CONTEXTS_MAX];
    bool finished[CONTEXTS_MAX];
    uint64_t random;
    unsigned preempted;
    unsigned busy;
    int error; /* the error of a preemption that should have succeeded */
    bool stop;
    pthread_t thread;
    struct verdict verdict;
    unsigned char handler_stack[65536];
};

static _Thread_local struct storm *own __attribute__((tls_model("initial-exec")));

static void set_current(struct storm *storm, struct carry_context *context) {
    __atomic_store_n(&storm->current, context, __ATOMIC_SEQ_CST);
}

/* Returns any unfinished unit except `not`, or NULL. */
static struct carry_context *pick_unit(struct storm *storm, uint64_t random,
                                       const struct carry_context * not ) {
    unsigned count = storm->options->contexts;
    for (unsigned i = 0; i < count; i++) {
        size_t number = (random + i) % count;
        if (!storm->finished[number] && &storm->units[number].context != not )
            return &storm->units[number].context;
    }
    return NULL;
}

HANDLER static void on_signal(int number, siginfo_t *info, void *ucontext) {
    __asm__ volatile("cld" : : : "cc"); /* emulators do not clear the direction flag */
    struct storm *storm = own;
    struct carry_context *from = __atomic_load_n(&storm->current, __ATOMIC_SEQ_CST);
    struct carry_context *to = from ? pick_unit(storm, next_random(&storm->random), from) : NULL;
    (void)number;
    (void)info;
    if (!to)
        return;
    int error = storm->calls->preempt(from, to, ucontext);
    if (!error)
        set_current(storm, to);
    storm->preempted += !error;
    storm->busy += error == CARRY_ERROR_BUSY;
    if (error && error != CARRY_ERROR_BUSY)
        storm->error = error;
}

/* Switches as schedulers must: the current context is set before the switch. */
static void switch_to_any(struct storm *storm, struct unit *unit) {
    set_current(storm, NULL);
    struct carry_context *to = pick_unit(storm, next_random(&unit->random), &unit->context);
    set_current(storm, to ? to : &unit->context);
    if (to)
        storm->calls->go(&unit->context, to, 0);
}

static bool is_done(const struct storm *storm, unsigned round) {
    unsigned wanted = storm->options->rounds;
    return !storm->verdict.ok || storm->error || (round >= wanted && storm->preempted >= wanted);
}

static struct carry_context *run_in_storm(void *argument, uintptr_t value) {
    struct unit *unit = argument;
    struct storm *storm = unit->group;
    (void)value;
    uint64_t components = unit->probe.components & carry_xstate_enabled();
    for (unsigned round = 0; !is_done(storm, round); round++) {
        fill_probe(unit, components & next_random(&unit->random));
        context_probe_spin(&unit->probe);
        compare_registers(&storm->verdict, &unit->probe, ALL_REGISTERS);
        compare_image(&storm->verdict, &unit->probe, components);
        if ((unit->probe.before.flags ^ unit->probe.after.flags) & FLAGS)
            verdict_fail(&storm->verdict, "flags differ; ");
        if (memcmp(unit->probe.before.red_zone, unit->probe.after.red_zone, 128))
            verdict_fail(&storm->verdict, "the red zone differs; ");
        if (next_random(&unit->random) % 4 == 0)
            switch_to_any(storm, unit);
    }
    set_current(storm, NULL);
    storm->finished[unit->number] = true;
    struct carry_context *to = pick_unit(storm, 0, NULL);
    set_current(storm, to);
    return to ? to : &storm->start;
}

static bool make_storm(struct storm *storm) {
    carry_context_adopt(&storm->start, NULL, 0);
    for (size_t i = 0; i < storm->options->contexts; i++)
        if (!make_unit(&storm->units[i], storm, i, run_in_storm, storm->options->mask) ||
            carry_context_keep(&storm->units[i].context, storm->units[i].area, AREA_BYTES,
                               storm->options->mask))
            return verdict_fail(&storm->verdict, "not made");
    return true;
}

static void *run_storm(void *argument) {
    struct storm *storm = argument;
    stack_t stack = {.ss_sp = storm->handler_stack, .ss_size = sizeof storm->handler_stack};
    stack_t before;
    sigset_t signal;
    own = storm;
    sigaltstack(&stack, &before); /* a sanitizer frees the signal stack that is set when a thread
                                     ends: `before` must be restored */
    sigemptyset(&signal);
    sigaddset(&signal, SIGUSR1);
    set_current(storm, &storm->units[0].context);
    pthread_sigmask(SIG_UNBLOCK, &signal, NULL);
    carry_context_switch(&storm->start, &storm->units[0].context, 0);
    pthread_sigmask(SIG_BLOCK, &signal, NULL);
    sigaltstack(&before, NULL);
    __atomic_store_n(&storm->stop, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Sends signals in rounds, one to each thread, with a random pause after about half of the
 * rounds. */
static void send_signals(struct storm *storms, unsigned count) {
    uint64_t random = rng_seed() + 1;
    for (bool all = false; !all;) {
        all = true;
        for (unsigned i = 0; i < count; i++) {
            if (__atomic_load_n(&storms[i].stop, __ATOMIC_SEQ_CST))
                continue;
            all = false;
            pthread_kill(storms[i].thread, SIGUSR1);
        }
        if (next_random(&random) % 2)
            usleep((unsigned)(next_random(&random) % 100));
    }
}

struct verdict check_context_storm(const struct context_calls *calls,
                                   const struct storm_options *options) {
    static struct storm storms[THREADS_MAX];
    struct sigaction old;
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | (options->own_stack ? SA_ONSTACK : 0)};
    struct verdict verdict = {.ok = true};
    sigset_t signal;
    sigset_t mask;
    sigemptyset(&signal);
    sigaddset(&signal, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signal, &mask);
    sigaction(SIGUSR1, &action, &old);
    for (unsigned i = 0; i < options->threads; i++) {
        memset(&storms[i], 0, sizeof storms[i]);
        storms[i].calls = calls;
        storms[i].options = options;
        storms[i].random = rng_seed() * 3 + i + 1;
        storms[i].verdict.ok = true;
        if (!make_storm(&storms[i]) ||
            pthread_create(&storms[i].thread, NULL, run_storm, &storms[i]))
            return storms[i].verdict;
    }
    send_signals(storms, options->threads);
    for (unsigned i = 0; i < options->threads; i++) {
        pthread_join(storms[i].thread, NULL);
        if (storms[i].error)
            verdict_fail(&verdict, "error %d; ", storms[i].error);
        if (!storms[i].verdict.ok && verdict.ok)
            verdict = storms[i].verdict;
    }
    sigaction(SIGUSR1, &old, NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return verdict;
}
