/* SPDX-License-Identifier: MIT */
/* Tests the facilities on which the other tests rely: traps, interrupts, pages, the second CPU. */
#include "harness/tap.h"
#include "kernel.h"

static unsigned breakpoints;
static unsigned ticks;
static unsigned nmis;

static bool count_breakpoint(struct trap_frame *frame) {
    trap_pass_breakpoint(frame);
    breakpoints++;
    return true;
}

static bool count_tick(struct trap_frame *frame) {
    (void)frame;
    __atomic_fetch_add(&ticks, cpu_here()->in_interrupt, __ATOMIC_RELAXED);
    return true;
}

static bool count_nmi(struct trap_frame *frame) {
    (void)frame;
    __atomic_fetch_add(&nmis, cpu_here()->in_nmi, __ATOMIC_RELAXED);
    return true;
}

static bool wait_for(const unsigned *count) {
    for (unsigned i = 0; i < 100000000 && !__atomic_load_n(count, __ATOMIC_RELAXED); i++)
        cpu_pause();
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void test_traps(void) {
    trap_handler *before = trap_set(TRAP_BREAKPOINT, count_breakpoint);
    trap_breakpoint();
    trap_set(TRAP_BREAKPOINT, before);
    tap_ok(TAP_EQ(breakpoints, 1), "a breakpoint is handled, and the program continues");

    before = trap_set(TRAP_NMI, count_nmi);
    cpu_send_nmi_to_self();
    tap_ok(wait_for(&nmis), "an NMI arrives and is recognised");
    trap_set(TRAP_NMI, before);
}

static void test_timer(void) {
    trap_handler *before = trap_set(TRAP_TIMER, count_tick);
    uint64_t flags = cpu_interrupts_off();
    cpu_timer(1000);
    for (unsigned i = 0; i < 100000; i++)
        cpu_pause();
    tap_ok(TAP_EQ(ticks, 0), "no interrupt arrives while interrupts are off");
    cpu_interrupts_restore(flags);
    tap_ok(wait_for(&ticks), "the timer interrupts");
    trap_set(TRAP_TIMER, before);
}

static void tell_index(void *index) {
    *(unsigned *)index = cpu_here()->index;
}

static void test_second(void) {
    unsigned called = 0;
    unsigned run = 0;
    if (!tap_ok(TAP_EQ(cpu_count(), CPUS), "the second CPU runs"))
        return;
    cpu_call_other(tell_index, &called);
    tap_ok(TAP_EQ(called, 1), "the second CPU runs a function by interrupt");
    cpu_run_other(tell_index, &run);
    cpu_join_other();
    tap_ok(TAP_EQ(run, 1), "the second CPU runs a main program");
}

static void test_pages(void) {
    volatile uint32_t *word = (volatile uint32_t *)(WINDOW_KERNEL + 5 * PAGE_BYTES);
    page_map(WINDOW_KERNEL, 5, PAGE_WRITABLE);
    *word = 0x1071;
    page_unmap(WINDOW_KERNEL, 5);
    page_map(WINDOW_KERNEL, 5, 0);
    tap_ok(TAP_EQ(*word, 0x1071), "a page keeps its contents while it is unmapped");
    page_unmap(WINDOW_KERNEL, 5);
}

void test_machine(void);
void test_machine(void) {
    test_traps();
    test_timer();
    test_second();
    test_pages();
}
