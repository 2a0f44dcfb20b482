/* SPDX-License-Identifier: MIT */
/*
 * Tests operations on the interrupt flag whose sites hold the instructions themselves, and commits
 * while a CPU is between two of these instructions.
 */
#include "harness/tap.h"
#include "interrupts.h"

#include <limits.h>
#include <string.h>

/* Returns the address of `bytes` if the site in `function` was patched to them, or NULL. */
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
#define FIRST_BYTES    5 /* size of the first instruction of both sequences */

static void test_bytes(void) {
    struct carry_patch_counts counts;
    tap_ok(!interrupts_use(&interrupts_native), "the native table is patched in");
    tap_ok(TAP_TRUE(find_bytes((uintptr_t)site_off, OFF_INLINE)) &&
               TAP_TRUE(find_bytes((uintptr_t)site_on, ON_INLINE)),
           "calls became cli and sti");
    tap_ok(TAP_TRUE(find_bytes((uintptr_t)site_save, SAVE_INLINE)) &&
               TAP_TRUE(find_bytes((uintptr_t)site_restore, RESTORE_INLINE)),
           "other calls became the two instructions that save or restore flags");
    carry_patch_stats(&counts);
    tap_ok(TAP_GE(counts.inlined, 4), "%zu calls became their instructions", counts.inlined);
}

/* --- The other CPU inside a site --- */

static struct {
    const uint8_t *inside; /* where the other CPU stops: between two instructions */
    unsigned refusals; /* refused stops until it leaves; UINT_MAX: it stays until the commit ends */
    bool stands;
    bool committed;
} parked;

/*
 * Returns whether the parked CPU stays. First runs a site: a stop that waits for this CPU to leave
 * one site must not block the other sites.
 */
static bool parked_stays(void) {
    site_save();
    return !__atomic_load_n(&parked.committed, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&host_stops_refused, __ATOMIC_SEQ_CST) < parked.refusals;
}

/* Runs after each instruction, and waits at parked.inside. */
static bool park_inside(struct trap_frame *frame) {
    if (frame->rip != (uintptr_t)parked.inside)
        return true;
    __atomic_store_n(&parked.stands, true, __ATOMIC_SEQ_CST);
    __asm__ volatile("sti" : : : "memory");
    while (parked_stays())
        cpu_pause();
    __asm__ volatile("cli" : : : "memory");
    frame->rflags &= ~(uint64_t)EFLAGS_TF;
    return true;
}

static void save_in_steps(void *flags) {
    __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(EFLAGS_TF) : "memory", "cc");
    *(uintptr_t *)flags = site_save();
}

/* Changes the table while the other CPU is inside a site. Returns the result of the commit. */
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
        tap_skip("a CPU inside of a site", "there is one CPU");
        return;
    }
    bool is_inline =
        !interrupts_use(&interrupts_native) && find_bytes((uintptr_t)site_save, SAVE_INLINE);
    if (!tap_ok(is_inline, "the site consists of two instructions"))
        return;
    trap_handler *before = trap_set(TRAP_DEBUG, park_inside);
    int error = commit_around_parked(UINT_MAX, &flags);
    tap_ok(TAP_EQ(error, CARRY_ERROR_BUSY) &&
               TAP_TRUE(find_bytes((uintptr_t)site_save, SAVE_INLINE)) &&
               TAP_EQ(carry_get(interrupts_save), interrupts_native.save),
           "a CPU stays inside of a site: the commit is refused and changes nothing");
    tap_ok(flags & EFLAGS_IF, "the CPU continues undisturbed");
    flags = 0;
    error = commit_around_parked(3, &flags);
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_GE(host_stops_refused, 3) &&
               TAP_TRUE(!find_bytes((uintptr_t)site_save, SAVE_INLINE)),
           "a CPU leaves the site: the commit waits for it");
    tap_ok(flags & EFLAGS_IF, "the CPU has completed the instructions of its site");
    trap_set(TRAP_DEBUG, before);
}

void test_inline(void);
void test_inline(void) {
    tap_ok(TAP_EQ(carry_patch_apply(0), CARRY_OK), "sites are patched");
    test_bytes();
    test_parked();
    interrupts_use(&interrupts_native);
}
