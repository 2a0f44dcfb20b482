/* SPDX-License-Identifier: MIT */
/* Tests the table of operations on interrupt flags: also while one CPU runs the operations and the
   other changes the table, and while both change it. */
#include "harness/tap.h"
#include "interrupts.h"

#define SWITCHES 50

/* --- One CPU --- */

void site_off(void) {
    carry_call(interrupts_off)();
}

void site_on(void) {
    carry_call(interrupts_on)();
}

uintptr_t site_save(void) {
    return carry_call(interrupts_save)();
}

void site_restore(uintptr_t flags) {
    carry_call(interrupts_restore)(flags);
}

static bool is_on(void) {
    return cpu_is_on(cpu_flags());
}

static bool flag_follows(void) {
    uintptr_t flags = site_save();
    bool was_on = is_on() && cpu_is_on(flags);
    site_off();
    bool was_off = !is_on() && !cpu_is_on(site_save());
    site_restore(flags);
    was_on = was_on && is_on();
    site_off();
    was_off = was_off && !is_on();
    site_on();
    return was_on && was_off && is_on();
}

static void test_alone(void) {
    uint64_t calls = hypervisor[0].calls;
    site_off();
    tap_ok(TAP_EQ(hypervisor[0].calls, calls + 1) && TAP_TRUE(is_on()),
           "before a commit, calls go to the hypervisor's table");
    site_on();
    tap_ok(!interrupts_use(&interrupts_native), "the native table is patched in");
    calls = hypervisor[0].calls;
    tap_ok(TAP_TRUE(flag_follows()) && TAP_EQ(hypervisor[0].calls, calls),
           "the operations change the CPU's flag");
}

/* --- Under the other CPU --- */

static bool stop;
static uint64_t rounds;
static uint64_t wrong;
static uint64_t ticks; /* interrupts of the other CPU's timer */

/* Checks that each call acts entirely by one table, whichever is in use at that moment. */
static void run_round(unsigned here) {
    interrupts_native.on();
    uint64_t calls = hypervisor[here].calls;
    site_off();
    bool is_native = !is_on();
    wrong += is_native == (hypervisor[here].calls != calls);
    calls = hypervisor[here].calls;
    site_on();
    is_native = hypervisor[here].calls == calls;
    wrong += is_native && !is_on();

    interrupts_native.on();
    hypervisor[here].flags = CPU_OFF; /* differs from the flag of the CPU */
    calls = hypervisor[here].calls;
    uintptr_t flags = site_save();
    is_native = hypervisor[here].calls == calls;
    wrong += is_native != cpu_is_on(flags);
    calls = hypervisor[here].calls;
    site_restore(CPU_OFF);
    is_native = hypervisor[here].calls == calls;
    wrong += is_native == is_on();
}

static bool count_tick(struct trap_frame *frame) {
    (void)frame;
    ticks++;
    if (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        cpu_timer(1 + (uint32_t)(ticks * 7919 % 3000));
    return true;
}

static void run_sites(void *unused) {
    (void)unused;
    cpu_timer(1000);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        run_round(cpu_here()->index);
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    }
    cpu_timer(0);
    interrupts_native.on();
}

static void test_live(void) {
    int error = 0;
    if (cpu_count() < CPUS) {
        tap_skip("switches under the other CPU", "there is one CPU");
        return;
    }
    trap_set(TRAP_TIMER, count_tick); /* remains set: a last tick may arrive late */
    cpu_run_other(run_sites, NULL);
    while (!__atomic_load_n(&rounds, __ATOMIC_RELAXED))
        cpu_pause();
    for (unsigned i = 0; i < SWITCHES; i++)
        error |= interrupts_use(i % 2 ? &interrupts_native : &interrupts_hypervisor);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    cpu_join_other();
    tap_ok(TAP_TRUE(!error) && TAP_EQ(wrong, 0) && TAP_TRUE(rounds),
           "%u commits while the other CPU runs the sites: %lu calls are wrong", SWITCHES, wrong);
    tap_note("%lu rounds, %lu interrupts", rounds, ticks);
}

/* --- Both CPUs commit --- */

static void switch_often(void *error) {
    for (unsigned i = 0; i < SWITCHES; i++)
        *(int *)error |= interrupts_use(i % 2 ? &interrupts_native : &interrupts_hypervisor);
}

static void test_both(void) {
    int errors[CPUS] = {0};
    if (cpu_count() < CPUS) {
        tap_skip("commits on two CPUs at once", "there is one CPU");
        return;
    }
    cpu_run_other(switch_often, &errors[1]);
    switch_often(&errors[0]);
    cpu_join_other();
    tap_ok(TAP_EQ(errors[0], 0) && TAP_EQ(errors[1], 0), "commits on two CPUs at once succeed");
}

void test_interrupts(void);
void test_interrupts(void) {
    for (unsigned i = 0; i < CPUS; i++)
        hypervisor[i].flags = CPU_ON;
    tap_ok(TAP_EQ(carry_patch_apply(0), CARRY_OK), "sites are patched");
    test_alone();
    test_live();
    test_both();
    interrupts_use(&interrupts_native);
}
