/* SPDX-License-Identifier: MIT */
/* The table of operations on interrupt flags, switched while the other CPU runs them. */
#include "harness/tap.h"
#include "interrupts.h"

#include <limits.h>
#include <string.h>

#define SWITCHES 50

/* --- One CPU --- */

/* The sites' text: each function is one call of an operation and a return. */
static __attribute__((noinline)) void site_off(void) {
    carry_call(interrupts_off)();
}

static __attribute__((noinline)) void site_on(void) {
    carry_call(interrupts_on)();
}

static __attribute__((noinline)) uintptr_t site_save(void) {
    return carry_call(interrupts_save)();
}

static __attribute__((noinline)) void site_restore(uintptr_t flags) {
    carry_call(interrupts_restore)(flags);
}

/* Where a site holds these bytes, if that is what it was patched to, or NULL. */
static const uint8_t *find_bytes(uintptr_t function, const char *bytes) {
    const uint8_t *text = (const uint8_t *)function;
    for (size_t i = 0; i < 32; i++)
        if (!memcmp(text + i, bytes, strlen(bytes)))
            return text + i;
    return NULL;
}

#define OFF_INLINE     "\x2e\x2e\x2e\x2e\x2e\xfa"
#define ON_INLINE      "\x2e\x2e\x2e\x2e\x2e\xfb"
#define SAVE_INLINE    "\x2e\x2e\x2e\x2e\x9c\x58"
#define RESTORE_INLINE "\x2e\x2e\x2e\x2e\x57\x9d"
#define FIRST_BYTES    5 /* of the first instruction of both */

static bool is_on(void) {
    return cpu_flags() & EFLAGS_IF;
}

static bool flag_follows(void) {
    uintptr_t flags = site_save();
    bool was_on = is_on() && flags & EFLAGS_IF;
    site_off();
    bool was_off = !is_on() && !(site_save() & EFLAGS_IF);
    site_restore(flags);
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
    tap_ok(!interrupts_use(&interrupts_native), "the native table is patched in");
    calls = hypervisor[0].calls;
    tap_ok(flag_follows() && hypervisor[0].calls == calls, "the flag of the CPU follows it");
    tap_ok(find_bytes((uintptr_t)site_off, OFF_INLINE) && find_bytes((uintptr_t)site_on, ON_INLINE),
           "calls are cli and sti themselves");
    tap_ok(find_bytes((uintptr_t)site_save, SAVE_INLINE) &&
               find_bytes((uintptr_t)site_restore, RESTORE_INLINE),
           "others are the two instructions that save or restore flags");
    carry_patch_stats(&counts);
    tap_ok(counts.inlined >= 4, "%zu calls became their instructions", counts.inlined);
}

/* --- Under the other CPU --- */

static bool stop;
static uint64_t rounds;
static uint64_t wrong;
static uint64_t ticks; /* of the other CPU's timer */

/* Each call does one thing or the other, whichever table is in use when. */
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
    hypervisor[here].flags = 0; /* so that its answer is another than the CPU's */
    calls = hypervisor[here].calls;
    uintptr_t flags = site_save();
    is_native = hypervisor[here].calls == calls;
    wrong += is_native != ((flags & EFLAGS_IF) != 0);
    calls = hypervisor[here].calls;
    site_restore(0);
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
        tap_skip("switches under the other CPU", "there is one");
        return;
    }
    trap_set(TRAP_TIMER, count_tick); /* and it stays: a last tick may come late */
    cpu_run_other(run_sites, NULL);
    while (!__atomic_load_n(&rounds, __ATOMIC_RELAXED))
        cpu_pause();
    for (unsigned i = 0; i < SWITCHES; i++)
        error |= interrupts_use(i % 2 ? &interrupts_native : &interrupts_hypervisor);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    cpu_join_other();
    tap_ok(!error && !wrong && rounds,
           "%u switches while the other CPU switches interrupts: %lu wrong", SWITCHES, wrong);
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
        tap_skip("commits on two CPUs at once", "there is one");
        return;
    }
    cpu_run_other(switch_often, &errors[1]);
    switch_often(&errors[0]);
    cpu_join_other();
    tap_ok(!errors[0] && !errors[1], "commits on two CPUs at once");
}

/* --- The other CPU inside of a site --- */

static struct {
    const uint8_t *inside; /* where the other CPU is to stand: between two instructions */
    unsigned refusals;     /* that it stays for; UINT_MAX: until the commit is over */
    bool stands;
    bool committed;
} parked;

/* Runs sites itself: whoever waits for this CPU to leave must not stop those. */
static bool stays(void) {
    site_save();
    return !__atomic_load_n(&parked.committed, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&host_stops_refused, __ATOMIC_SEQ_CST) < parked.refusals;
}

/* After each instruction, up to the place. */
static bool park(struct trap_frame *frame) {
    if (frame->rip != (uintptr_t)parked.inside)
        return true;
    __atomic_store_n(&parked.stands, true, __ATOMIC_SEQ_CST);
    __asm__ volatile("sti" : : : "memory");
    while (stays())
        cpu_pause();
    __asm__ volatile("cli" : : : "memory");
    frame->rflags &= ~(uint64_t)EFLAGS_TF;
    return true;
}

static void save_in_steps(void *flags) {
    __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(EFLAGS_TF) : "memory", "cc");
    *(uintptr_t *)flags = site_save();
}

/* Changes the table while the other CPU stands inside of a site. Returns what the commit says. */
static int commit_around_parked(unsigned refusals, uintptr_t *flags) {
    host_stops_refused = 0;
    parked.inside = find_bytes((uintptr_t)site_save, SAVE_INLINE) + FIRST_BYTES;
    parked.refusals = refusals;
    parked.stands = parked.committed = false;
    cpu_run_other(save_in_steps, flags);
    while (!__atomic_load_n(&parked.stands, __ATOMIC_SEQ_CST))
        cpu_pause();
    int error = interrupts_use(&interrupts_hypervisor);
    __atomic_store_n(&parked.committed, true, __ATOMIC_SEQ_CST);
    cpu_join_other();
    return error;
}

static void test_parked(void) {
    uintptr_t flags = 0;
    if (cpu_count() < CPUS) {
        tap_skip("a CPU inside of a site", "there is one");
        return;
    }
    bool is_inline =
        !interrupts_use(&interrupts_native) && find_bytes((uintptr_t)site_save, SAVE_INLINE);
    if (!tap_ok(is_inline, "there is a site of two instructions to stand in"))
        return;
    trap_handler *before = trap_set(TRAP_DEBUG, park);
    int error = commit_around_parked(UINT_MAX, &flags);
    tap_ok(error == CARRY_ERROR_BUSY && find_bytes((uintptr_t)site_save, SAVE_INLINE) &&
               carry_get(interrupts_save) == interrupts_native.save,
           "a CPU that stays inside of a site: the commit is refused, and nothing changes");
    tap_ok(flags & EFLAGS_IF, "it goes on as if nothing had been");
    flags = 0;
    error = commit_around_parked(3, &flags);
    tap_ok(!error && host_stops_refused >= 3 && !find_bytes((uintptr_t)site_save, SAVE_INLINE),
           "one that leaves: the commit waits for it");
    tap_ok(flags & EFLAGS_IF, "it has run the instructions that it was in");
    trap_set(TRAP_DEBUG, before);
}

void test_interrupts(void);
void test_interrupts(void) {
    for (unsigned i = 0; i < CPUS; i++)
        hypervisor[i].flags = EFLAGS_IF;
    tap_ok(!carry_patch_apply(0), "sites are patched");
    test_alone();
    test_live();
    test_both();
    test_parked();
    interrupts_use(&interrupts_native);
}
