/* SPDX-License-Identifier: MIT */
/* Sets up the two CPUs, and lets each call functions on the other. */
#include "kernel.h"

struct call {
    void (*function)(void *);
    void *argument;
};

static struct cpu cpus[CPUS];
static unsigned running = 1;
static struct call interrupting[CPUS]; /* what each CPU runs in an interrupt; NULL: done */
static struct call main_program;       /* main program of the second CPU */

struct cpu *cpu_of(unsigned index) {
    return &cpus[index];
}

void cpu_prepare(unsigned index) {
    struct cpu *cpu = &cpus[index];
    cpu->self = cpu;
    cpu->index = index;
    trap_load(index);
    cpu_enable(cpu);
}

unsigned cpu_count(void) {
    return __atomic_load_n(&running, __ATOMIC_ACQUIRE);
}

/* --- Calls --- */

static void order_call(struct call *call, void (*function)(void *), void *argument) {
    call->argument = argument;
    __atomic_store_n(&call->function, function, __ATOMIC_RELEASE);
}

static void run_call(struct call *call) {
    if (!__atomic_load_n(&call->function, __ATOMIC_ACQUIRE))
        return;
    call->function(call->argument);
    __atomic_store_n(&call->function, NULL, __ATOMIC_RELEASE);
}

/* Runs the requested call, with interrupts off: the interrupt of the request may arrive here. */
void cpu_poll(void) {
    uint64_t flags = cpu_interrupts_off();
    run_call(&interrupting[cpu_here()->index]);
    cpu_interrupts_restore(flags);
}

/* Polls until a call has returned: the other CPU may wait for this CPU, whose interrupts may be
   off. */
static void wait_until_done(struct call *call) {
    while (__atomic_load_n(&call->function, __ATOMIC_ACQUIRE)) {
        cpu_poll();
        cpu_pause();
    }
}

/* Handles the interrupt of a request. Polling may have run the requested call before. */
static bool handle_call(struct trap_frame *frame) {
    (void)frame;
    cpu_poll();
    return true;
}

static void interrupt_other(void (*function)(void *), void *argument) {
    unsigned index = !cpu_here()->index;
    order_call(&interrupting[index], function, argument);
    cpu_interrupt(&cpus[index]);
}

void cpu_call_other(void (*function)(void *), void *argument) {
    if (cpu_count() < CPUS)
        return;
    interrupt_other(function, argument);
    wait_until_done(&interrupting[!cpu_here()->index]);
}

/* --- Stopping the other CPU --- */

static enum { RUNS, STANDS } other;

static void wait_in_handler(void *unused) {
    (void)unused;
    __atomic_store_n(&other, STANDS, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&other, __ATOMIC_SEQ_CST) == STANDS)
        cpu_pause();
    cpu_serialise();
}

void cpu_hold_other(void) {
    if (cpu_count() < CPUS)
        return;
    interrupt_other(wait_in_handler, NULL);
    while (__atomic_load_n(&other, __ATOMIC_SEQ_CST) != STANDS) {
        cpu_poll();
        cpu_pause();
    }
}

void cpu_release_other(void) {
    if (cpu_count() < CPUS)
        return;
    __atomic_store_n(&other, RUNS, __ATOMIC_SEQ_CST);
    wait_until_done(&interrupting[!cpu_here()->index]);
}

void cpu_run_other(void (*function)(void *), void *argument) {
    order_call(&main_program, function, argument);
    cpu_interrupt(&cpus[!cpu_here()->index]); /* wakes it up */
}

void cpu_join_other(void) {
    wait_until_done(&main_program);
}

void kernel_second_main(void) {
    cpu_prepare(1);
    __atomic_store_n(&running, CPUS, __ATOMIC_RELEASE);
    for (;;) {
        run_call(&main_program);
        cpu_interrupts_off();
        if (!__atomic_load_n(&main_program.function, __ATOMIC_ACQUIRE))
            cpu_wait();
        cpu_interrupts_on();
    }
}

void cpu_start_second(void) {
    trap_set(TRAP_CALL, handle_call);
    cpu_boot_second();
}
