/* SPDX-License-Identifier: MIT */
/*
 * Tests kernel threads on two CPUs: each holds numbers in all vector registers across switches, is
 * interrupted by handlers that begin sections, and continues on any free CPU.
 */
#include "harness/tap.h"
#include "kernel.h"
#include "vectors.h"

#include <carry/fault.h>
#include <carry/section.h>

#define THREADS     6
#define SLICES      150 /* number of slices of each thread */
#define STACK_BYTES 16384

enum state { READY, RUNNING, FINISHED };

static struct thread {
    void *stack_pointer; /* valid while the thread is suspended */
    struct carry_section_thread vectors;
    void **scheduler; /* stack pointer of the scheduler of the CPU that runs the thread */
    bool finished;
    unsigned state;
    unsigned slices;
    unsigned wrong;
    unsigned migrations;
    unsigned cpu; /* the last CPU that ran the thread */
    struct carry_fault_frame *frames;
    uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));
    uint8_t area[VECTORS_AREA_BYTES] __attribute__((aligned(CARRY_XSTATE_ALIGN)));
} threads[THREADS];

static unsigned interrupts[CPUS];
static unsigned refused[CPUS];

/* Overwrites all vector registers, if a section may begin. */
static bool overwrite_vectors(struct trap_frame *frame) {
    struct carry_section section;
    unsigned here = cpu_here()->index;
    (void)frame;
    interrupts[here]++;
    if (carry_section_begin(&section, NULL, 0)) {
        refused[here]++;
        return true;
    }
    vectors_fill(interrupts[here]);
    carry_section_end(&section);
    return true;
}

/* Loads the state of a thread that gets this CPU: now, or at its first use. */
static void enter_cpu(struct thread *self) {
    struct cpu *cpu = cpu_here();
    self->migrations += self->slices && self->cpu != cpu->index;
    self->cpu = cpu->index;
    cpu->thread = &self->vectors;
    cpu->frames = self->frames;
    self->wrong += carry_section_switch(&self->vectors) != 0;
    section_return();
}

/* Saves the vector state before thread_switch(), which preserves only general registers. */
static void leave_cpu(struct thread *self) {
    struct cpu *cpu = cpu_here();
    self->wrong += carry_section_switch(NULL) != 0;
    self->frames = cpu->frames;
    cpu->frames = NULL;
    cpu->thread = NULL;
    cpu->load_due = false;
}

static void pass_on(struct thread *self) {
    leave_cpu(self);
    thread_switch(&self->stack_pointer, *self->scheduler);
    enter_cpu(self);
}

/*
 * Returns whether a frame works after a switch. While this thread is suspended, other threads enter
 * frames. It may continue on another CPU.
 */
static bool faults_after_switch(struct thread *self) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame) == 0) {
        pass_on(self);
        (void)*(const volatile uint8_t *)WINDOW_HOLE;
        carry_fault_leave(&frame);
        return false;
    }
    return !cpu_here()->frames;
}

/*
 * Requests an interrupt. If `waits`, waits for it; otherwise it may arrive later.
 */
static void expect_interrupt(uint64_t seed, bool waits) {
    const unsigned *count = &interrupts[cpu_here()->index];
    const unsigned before = __atomic_load_n(count, __ATOMIC_RELAXED);
    cpu_timer(1 + (uint32_t)(seed * 7919 % 5000));
    while (waits && __atomic_load_n(count, __ATOMIC_RELAXED) == before)
        cpu_pause();
}

static void run_slices(void *thread) {
    struct thread *self = thread;
    enter_cpu(self);
    while (self->slices < SLICES) {
        uint64_t seed = (uint64_t)(self - threads) << 32 | ++self->slices;
        vectors_fill(seed);
        expect_interrupt(seed, self->slices % 16 == 0);
        self->wrong += !faults_after_switch(self);
        self->wrong += !vectors_hold(seed);
    }
    leave_cpu(self);
    self->finished = true;
    thread_switch(&self->stack_pointer, *self->scheduler);
}

static void prepare_thread(struct thread *thread) {
    thread->stack_pointer = thread_begin(thread->stack + STACK_BYTES, run_slices, thread);
    thread->frames = NULL;
    thread->finished = false;
    thread->slices = thread->wrong = thread->migrations = 0;
    carry_section_create(&thread->vectors, thread->area, carry_xstate_default());
}

static struct thread *take_thread(unsigned first) {
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *thread = &threads[(first + i) % THREADS];
        unsigned ready = READY;
        if (__atomic_compare_exchange_n(&thread->state, &ready, RUNNING, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return thread;
    }
    return NULL;
}

static bool all_finished(void) {
    unsigned i = 0;
    while (i < THREADS && __atomic_load_n(&threads[i].state, __ATOMIC_ACQUIRE) == FINISHED)
        i++;
    return i == THREADS;
}

static void schedule_threads(void *is_lazy) {
    void *scheduler;
    unsigned next = cpu_here()->index;
    cpu_here()->is_lazy = is_lazy != NULL;
    while (!all_finished()) {
        struct thread *thread = take_thread(next++);
        if (!thread)
            continue;
        thread->scheduler = &scheduler;
        thread_switch(&scheduler, thread->stack_pointer);
        __atomic_store_n(&thread->state, thread->finished ? FINISHED : READY, __ATOMIC_RELEASE);
    }
    cpu_timer(0);
    cpu_here()->is_lazy = false;
    cpu_vectors_allow();
}

static void test_threads(bool is_lazy) {
    unsigned wrong = 0;
    unsigned migrations = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *thread = &threads[i];
        prepare_thread(thread);
        __atomic_store_n(&thread->state, READY, __ATOMIC_RELEASE);
    }
    if (cpu_count() == CPUS)
        cpu_run_other(schedule_threads, is_lazy ? threads : NULL);
    schedule_threads(is_lazy ? threads : NULL);
    if (cpu_count() == CPUS)
        cpu_join_other();
    for (unsigned i = 0; i < THREADS; i++) {
        wrong += threads[i].wrong;
        migrations += threads[i].migrations;
    }
    tap_note("%u migrations, %u and %u interrupts, %u and %u refused", migrations, interrupts[0],
             interrupts[1], refused[0], refused[1]);
    tap_ok(
        TAP_EQ(wrong, 0) && TAP_TRUE(interrupts[0] + interrupts[1]),
        "%u slices of each keep all vector registers, and a frame, on %u CPUs, loaded %s: %u wrong",
        SLICES, cpu_count(), is_lazy ? "by a trap" : "at once", wrong);
}

void test_switch(void);
void test_switch(void) {
    trap_handler *before = trap_set(TRAP_TIMER, overwrite_vectors);
    test_threads(false);
    test_threads(true);
    trap_set(TRAP_TIMER, before);
}
