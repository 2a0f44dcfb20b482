/* SPDX-License-Identifier: MIT */
/*
 * Interrupt flags as a table of operations, as kernels have them that run on the machine or under a
 * hypervisor: patched in they are the native instructions, else they go through the table.
 */
#include "harness/tap.h"
#include "kernel.h"

#include <carry/patch.h>

#include <string.h>

CARRY_OP(void, interrupts_off);
CARRY_OP(void, interrupts_on);
CARRY_OP(uintptr_t, interrupts_save);
CARRY_OP(void, interrupts_restore, uintptr_t);

#define IF 0x200

#define SWITCHES 50

static uintptr_t flags_now(void) {
    uintptr_t flags;
    __asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
    return flags;
}

/* --- Native --- */

static void native_off(void) {
    CARRY_BODY(native_off, "cli");
    __asm__ volatile("cli" : : : "memory");
}

static void native_on(void) {
    CARRY_BODY(native_on, "sti");
    __asm__ volatile("sti" : : : "memory");
}

/* Two instructions: no single one gives the flags, so calls of these are direct, not inlined. */
static uintptr_t native_save(void) {
    return flags_now();
}

static void native_restore(uintptr_t flags) {
    __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc");
}

/* --- Under a hypervisor, which keeps the flag of each CPU in memory --- */

static struct {
    uintptr_t flags;
    uint64_t calls;
} hypervisor[CPUS];

static void hypervisor_off(void) {
    hypervisor[cpu_here()->index].flags = 0;
    hypervisor[cpu_here()->index].calls++;
}

static void hypervisor_on(void) {
    hypervisor[cpu_here()->index].flags = IF;
    hypervisor[cpu_here()->index].calls++;
}

static uintptr_t hypervisor_save(void) {
    hypervisor[cpu_here()->index].calls++;
    return hypervisor[cpu_here()->index].flags;
}

static void hypervisor_restore(uintptr_t flags) {
    hypervisor[cpu_here()->index].flags = flags;
    hypervisor[cpu_here()->index].calls++;
}

CARRY_OP_DEFINE(interrupts_off, hypervisor_off);
CARRY_OP_DEFINE(interrupts_on, hypervisor_on);
CARRY_OP_DEFINE(interrupts_save, hypervisor_save);
CARRY_OP_DEFINE(interrupts_restore, hypervisor_restore);

static int use_native(bool native) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, interrupts_off, native ? native_off : hypervisor_off);
    carry_set(&patch, interrupts_on, native ? native_on : hypervisor_on);
    carry_set(&patch, interrupts_save, native ? native_save : hypervisor_save);
    carry_set(&patch, interrupts_restore, native ? native_restore : hypervisor_restore);
    return carry_patch_commit(&patch);
}

/* --- One CPU --- */

/* The sites' text: each function is one call of an operation and a return. */
static __attribute__((noinline)) void site_off(void) {
    carry_call(interrupts_off)();
}

static __attribute__((noinline)) void site_on(void) {
    carry_call(interrupts_on)();
}

static bool has_bytes(void (*function)(void), const void *bytes, size_t size) {
    const uint8_t *text = (const uint8_t *)(uintptr_t)function;
    for (size_t i = 0; i < 32; i++)
        if (!memcmp(text + i, bytes, size))
            return true;
    return false;
}

static bool is_on(void) {
    return flags_now() & IF;
}

static bool flag_follows(void) {
    uintptr_t flags = carry_call(interrupts_save)();
    bool was_on = is_on() && flags & IF;
    site_off();
    bool was_off = !is_on() && !(carry_call(interrupts_save)() & IF);
    carry_call(interrupts_restore)(flags);
    was_on = was_on && is_on();
    site_off();
    was_off = was_off && !is_on();
    site_on();
    return was_on && was_off && is_on();
}

static void test_alone(void) {
    struct carry_patch_counts counts;
    uint64_t calls = hypervisor[0].calls;
    site_off();
    tap_ok(hypervisor[0].calls == calls + 1 && is_on(),
           "before a commit the table of the hypervisor is used");
    site_on();
    tap_ok(!use_native(true), "the native table is patched in");
    calls = hypervisor[0].calls;
    tap_ok(flag_follows() && hypervisor[0].calls == calls, "the flag of the CPU follows it");
    tap_ok(has_bytes(site_off, "\x2e\x2e\x2e\x2e\x2e\xfa", 6) || has_bytes(site_off, "\xfa", 1),
           "a call is cli itself");
    carry_patch_stats(&counts);
    tap_ok(counts.inlined >= 2, "%zu calls became their instruction", counts.inlined);
}

/* --- Under the other CPU --- */

static bool stop;
static uint64_t rounds;
static uint64_t wrong;

/* Each call does one thing or the other, whichever table is in use when. */
static void run_sites(void *unused) {
    (void)unused;
    unsigned here = cpu_here()->index;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        native_on();
        uint64_t calls = hypervisor[here].calls;
        site_off();
        bool is_native = !is_on();
        wrong += is_native == (hypervisor[here].calls != calls);
        calls = hypervisor[here].calls;
        site_on();
        is_native = hypervisor[here].calls == calls;
        wrong += is_native && !is_on();
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    }
    native_on();
}

static void test_live(void) {
    int error = 0;
    if (cpu_count() < CPUS) {
        tap_skip("switches under the other CPU", "there is one");
        return;
    }
    cpu_run_other(run_sites, NULL);
    while (!__atomic_load_n(&rounds, __ATOMIC_RELAXED))
        cpu_pause();
    for (unsigned i = 0; i < SWITCHES; i++)
        error |= use_native(i % 2);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    cpu_join_other();
    tap_ok(!error && !wrong && rounds,
           "%u switches while the other CPU switches interrupts: %lu wrong", SWITCHES, wrong);
    tap_note("%lu rounds", rounds);
}

void test_interrupts(void);
void test_interrupts(void) {
    for (unsigned i = 0; i < CPUS; i++)
        hypervisor[i].flags = IF;
    test_alone();
    test_live();
    use_native(true);
}
