/* SPDX-License-Identifier: MIT */
/* Tests extended state: saving, loading and cleaning, in each way that CPUs support. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <carry/context.h>
#include <carry/cpu.h>
#include <carry/xstate.h>

#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/registers.h"
#include "harness/replay.h"
#include "harness/rng.h"
#include "harness/tap.h"

static const char *const masks[] = {"",    "xsavec", "xgetbv1", "xsavec,xgetbv1",
                                    "avx", "xsave",  "all"};

#define VECTORS                                                                                    \
    (BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM) | BIT(TILECFG) |           \
     BIT(TILEDATA))

#define AREA_MAX  16384
#define STALE     0xa5
#define XSTATE_BV 512
#define RESERVED  528
#define ROUNDS    8 /* random masks for each set of components in use */

static uint8_t area[AREA_MAX] __attribute__((aligned(CARRY_XSTATE_ALIGN)));

static uint64_t tested_components(void) {
    return registers_components() & carry_xstate_enabled();
}

/* Returns the subset of `set` after `subset`; 0 after the last. */
static uint64_t next_subset(uint64_t subset, uint64_t set) {
    return (subset - set) & set;
}

static uint64_t random_mask(size_t round) {
    return round ? rng_next() & rng_next() : ~UINT64_C(0);
}

static void call_cleaned(const void *function, uint64_t first, uint64_t second) {
    registers_in.gpr[RDI] = first;
    registers_in.gpr[RSI] = second;
    registers_call(function, 0);
}

static uint64_t address(const void *object) {
    return (uint64_t)(uintptr_t)object;
}

/* --- Saving --- */

static bool saved_part(const struct registers *registers, unsigned component,
                       struct verdict *verdict) {
    size_t size;
    const uint8_t *wanted = registers_part(registers->area, component, &size);
    const uint8_t *found = registers_saved_part(area, component);
    if (!found)
        return verdict_fail(verdict, "%s is not saved; ", carry_xstate_name(component));
    /* x87 registers occupy 10 of 16 bytes. */
    const size_t step = component == CARRY_XSTATE_X87 ? 16 : size;
    for (size_t i = 0; i < size; i += step)
        if (memcmp(wanted + i, found + i, step == 16 ? 10 : size) != 0)
            return verdict_fail(verdict, "%s is saved wrongly; ", carry_xstate_name(component));
    return true;
}

static bool saved_parts(uint64_t saved, uint64_t mask, struct verdict *verdict) {
    const uint64_t in_use = registers_in_use(&registers_in);
    const uint64_t found = in_use | (saved & BY_OTHERS(in_use));
    if (saved & ~mask)
        return verdict_fail(verdict, "saves more than the mask; ");
    if (carry_cpu_has("xsave") && registers_tell_use() && (saved & ~found))
        return verdict_fail(verdict, "saves more than is in use; ");
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if ((mask & found & tested_components()) >> i & 1 && !saved_part(&registers_in, i, verdict))
            return false;
    return true;
}

static bool area_is_sound(size_t size, struct verdict *verdict) {
    for (size_t i = size; i < AREA_MAX; i++)
        if (area[i] != STALE)
            return verdict_fail(verdict, "writes after the area; ");
    for (size_t i = RESERVED; i < CARRY_XSTATE_EXTENDED; i++)
        if (area[i])
            return verdict_fail(verdict, "leaves garbage in the header; ");
    return true;
}

static bool save_once(uint64_t mask, struct verdict *verdict) {
    uint64_t written;
    memset(area, STALE, sizeof area);
    call_cleaned((const void *)carry_xstate_save, address(area), mask);
    memcpy(&written, area + XSTATE_BV, sizeof written);
    return (written == registers_out.gpr[RAX] ||
            verdict_fail(verdict, "returns a set that differs from the area's; ")) &&
           saved_parts(written, mask, verdict) &&
           area_is_sound(carry_xstate_area_size(mask), verdict) &&
           registers_compare(&registers_in, &registers_out, tested_components(), verdict) &&
           registers_compare_gpr(&registers_in, &registers_out, KEPT_BY_CALLS, verdict);
}

/* --- Loading --- */

static void copy_part(struct registers *to, const struct registers *from, unsigned component) {
    static const struct {
        size_t offset, size;
    } control[] = {[CARRY_XSTATE_X87] = {0, 24}, [CARRY_XSTATE_SSE] = {24, 4}};
    size_t size;
    uint8_t *part = registers_part(to->area, component, &size);
    memcpy(part, registers_part(from->area, component, &size), size);
    if (component <= CARRY_XSTATE_SSE)
        memcpy(to->area + control[component].offset, from->area + control[component].offset,
               control[component].size);
}

static void set_in_use(struct registers *registers, uint64_t in_use) {
    if (registers_in_use(registers) != registers_components() || registers_tell_use())
        memcpy(registers->area + XSTATE_BV, &in_use, sizeof in_use);
}

/* Replaces in `to` the components of `mask` with the components of `from`. */
static void replace_components(struct registers *to, const struct registers *from, uint64_t mask) {
    uint64_t in_use = registers_in_use(to) & ~mask;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if ((mask & registers_components()) >> i & 1)
            copy_part(to, from, i);
    set_in_use(to, in_use | (registers_in_use(from) & mask));
}

/*
 * Checks that only components that `wanted` or other software has in use are in use. Without XSAVE
 * the library cannot determine them: FXRSTOR may put x87 and SSE in use, whatever it loads.
 */
static bool same_use(const struct registers *wanted, const struct registers *found,
                     struct verdict *verdict) {
    /*
     * Compares only components that the library uses: memcpy(), which it calls, may put other
     * components in use, which FXSAVE does not save.
     */
    const uint64_t in_use = registers_in_use(wanted);
    const uint64_t more =
        registers_in_use(found) & ~in_use & ~BY_OTHERS(in_use) & carry_xstate_enabled();
    return !more || !registers_tell_use() || !carry_cpu_has("xsave") ||
           verdict_fail(verdict, "puts %#llx in use; ", (unsigned long long)more);
}

/* Returns whether the mask has exactly one of SSE and AVX. */
static bool one_of(uint64_t mask) {
    return !(mask & BIT(SSE)) != !(mask & BIT(AVX));
}

static bool load_once(const struct registers *saved, uint64_t saved_mask, uint64_t mask,
                      struct verdict *verdict) {
    static struct registers initial, wanted;
    /* In the standard form, MXCSR is saved and loaded with AVX too. */
    const bool one_alone = one_of(saved_mask) || one_of(mask);
    const uint64_t compared = one_alone ? tested_components() & ~BIT(SSE) : tested_components();
    registers_dirty(&initial, 0, true);
    registers_dirty(&registers_in, rng_next() & tested_components(), false);
    wanted = registers_in;
    replace_components(&wanted, &initial, mask & tested_components() & ~saved_mask);
    replace_components(&wanted, saved, mask & tested_components() & saved_mask);
    call_cleaned((const void *)carry_xstate_load, address(area), mask);
    return registers_compare(&wanted, &registers_out, compared, verdict) &&
           same_use(&wanted, &registers_out, verdict) &&
           registers_compare_gpr(&registers_in, &registers_out, KEPT_BY_CALLS, verdict);
}

static bool save_and_load(uint64_t in_use, struct verdict *verdict) {
    static struct registers saved;
    for (size_t round = 0; round < ROUNDS; round++) {
        if (replay_leaves_out(16))
            continue;
        const uint64_t mask = random_mask(round), load = random_mask(round & 3);
        registers_dirty(&registers_in, in_use, false);
        saved = registers_in;
        if (!save_once(mask, verdict) || !load_once(&saved, mask, load, verdict))
            return verdict_fail(verdict, "(in use %#llx, saved %#llx, loaded %#llx)",
                                (unsigned long long)in_use, (unsigned long long)mask,
                                (unsigned long long)load);
    }
    return true;
}

static void test_save_and_load(const char *mask) {
    struct verdict verdict = {.ok = true};
    uint64_t in_use = 0;
    rng_restart();
    while (save_and_load(in_use, &verdict) &&
           (in_use = next_subset(in_use, tested_components())) != 0)
        ;
    verdict_report(&verdict, "mask \"%s\": all sets of components are saved and loaded", mask);
}

/* --- Cleaning --- */

static uint64_t components_cleaned(enum carry_xstate_level level) {
    if (level == CARRY_XSTATE_CLEAN_ALL)
        return tested_components() & ~BIT(PKRU);
    if (level == CARRY_XSTATE_CLEAN_VECTORS)
        return tested_components() & VECTORS;
    return carry_cpu_has("avx") ? BIT(AVX) | BIT(ZMM_HI256) : 0;
}

static bool clean_once(enum carry_xstate_level level, uint64_t in_use, struct verdict *verdict) {
    enum { MXCSR = 24 };
    static struct registers initial, wanted;
    if (replay_leaves_out(16))
        return true;
    registers_dirty(&registers_in, in_use, false);
    registers_dirty(&initial, 0, true);
    if (level != CARRY_XSTATE_CLEAN_ALL)
        memcpy(initial.area + MXCSR, registers_in.area + MXCSR, 4);
    wanted = registers_in;
    replace_components(&wanted, &initial, components_cleaned(level));
    call_cleaned((const void *)carry_xstate_clean, level, 0);
    /* memset(), which the library calls, may overwrite components that the library does not use. */
    return (registers_compare(&wanted, &registers_out, tested_components(), verdict) &&
            same_use(&wanted, &registers_out, verdict) &&
            registers_compare_gpr(&registers_in, &registers_out, KEPT_BY_CALLS, verdict)) ||
           verdict_fail(verdict, "(in use %#llx)", (unsigned long long)in_use);
}

static void test_clean(const char *mask, enum carry_xstate_level level, const char *name) {
    struct verdict verdict = {.ok = true};
    uint64_t in_use = 0;
    rng_restart();
    while (clean_once(level, in_use, &verdict) &&
           (in_use = next_subset(in_use, tested_components())) != 0)
        ;
    verdict_report(&verdict, "mask \"%s\": clean(%s)", mask, name);
}

static struct carry_context here, there;

static struct carry_context *clean_and_return(void *level, uintptr_t value) {
    (void)value;
    carry_xstate_clean((enum carry_xstate_level)(uintptr_t)level);
    return &here;
}

static void switch_there(void *unused) {
    (void)unused;
    carry_context_adopt(&here, NULL, 0);
    replay_start();
    carry_context_switch(&here, &there, 0);
    replay_stop();
}

/* Tests cleaning on a stack that ends at a page that faults: a CPU that reads beyond a short area
   faults. */
static void test_clean_reads(const char *mask) {
    enum { STACK_BYTES = 65536 };
    static const enum carry_xstate_level levels[] = {CARRY_XSTATE_CLEAN_VECTORS,
                                                     CARRY_XSTATE_CLEAN_ALL};
    struct guard stack = guard_open(STACK_BYTES);
    struct fault fault;
    bool ok = true;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (carry_context_create(&there, stack.end - STACK_BYTES, STACK_BYTES, clean_and_return,
                                 (void *)(uintptr_t)levels[i])) {
            guard_close(&stack);
            tap_skip("what cleaning reads", "the thread has a shadow stack");
            return;
        }
        ok = TAP_TRUE(fault_catch(switch_there, NULL, &fault)) && ok;
    }
    guard_close(&stack);
    tap_ok(ok, "mask \"%s\": cleaning reads nothing beyond its stack", mask);
}

/* --- Threads --- */

/* Returns whether x87 registers are saved and loaded. No compiled code here uses them between the
   calls. */
static bool keeps_x87(uint64_t seed) {
    enum { XCOMP_BV = 520, ST = 32, FTW = 4 };
    static _Thread_local uint8_t mine[AREA_MAX] __attribute__((aligned(64)));
    static _Thread_local uint8_t again[AREA_MAX] __attribute__((aligned(64)));
    bool ok = true;
    for (uint64_t round = 0; round < 1000 && ok; round++) {
        uint64_t value = seed + round;
        carry_xstate_save(mine, BIT(X87));
        mine[XSTATE_BV] |= BIT(X87);
        mine[FTW] = 0xff;
        memcpy(mine + ST, &value, sizeof value);
        carry_xstate_load(mine, BIT(X87));
        carry_xstate_save(again, BIT(X87));
        ok = memcmp(again + ST, &value, sizeof value) == 0;
    }
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return ok;
}

static void *run_thread(void *seed) {
    return keeps_x87((uint64_t)(uintptr_t)seed << 32) ? seed : NULL;
}

static void test_threads(void) {
    pthread_t threads[4];
    bool ok = true;
    for (uintptr_t i = 0; i < 4; i++)
        ok = TAP_EQ(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0) && ok;
    for (uintptr_t i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        ok = TAP_TRUE(result) && ok;
    }
    tap_ok(ok, "threads save and load their own");
    pid_t child = fork();
    if (child == 0)
        _exit(keeps_x87(UINT64_C(99) << 32) ? 0 : 1);
    int status = 1;
    const bool ended = child > 0 && waitpid(child, &status, 0) == child;
    tap_ok(TAP_TRUE(ended) && TAP_EQ(status, 0), "a child process saves and loads its own");
}

/* --- Components of the CPU --- */

static void test_masks(const char *mask) {
    const uint64_t rights = BIT(PKRU) | BIT(TILEDATA);
    const uint64_t enabled = carry_xstate_enabled();
    tap_ok(TAP_EQ(carry_xstate_default() & rights, 0) &&
               TAP_EQ(carry_xstate_default() | rights, enabled | rights),
           "mask \"%s\": the default is everything except PKRU and TILEDATA", mask);
    tap_ok(TAP_EQ(carry_xstate_in_use() & ~enabled, 0),
           "mask \"%s\": nothing is in use that is not enabled", mask);
    tap_ok(TAP_EQ(carry_xstate_area_size(0), 576) &&
               TAP_LE(carry_xstate_area_size(~UINT64_C(0)), AREA_MAX) &&
               TAP_EQ(carry_xstate_area_size(enabled) % CARRY_XSTATE_ALIGN, 0),
           "mask \"%s\": sizes of areas are right", mask);
}

/* Compares the components that are in use with those that the library reports as in use. */
static void test_in_use(void) {
    struct verdict verdict = {.ok = true};
    uint64_t in_use = 0;
    rng_restart();
    do {
        registers_dirty(&registers_in, in_use, false);
        call_cleaned((const void *)carry_xstate_in_use, 0, 0);
        const uint64_t told = registers_out.gpr[RAX] & tested_components();
        if (told != (in_use | (told & BY_OTHERS(in_use))))
            verdict_fail(&verdict, "in use %#llx, reported %#llx", (unsigned long long)in_use,
                         (unsigned long long)told);
        in_use = next_subset(in_use, tested_components());
    } while (in_use && verdict.ok);
    if (registers_tell_use() && carry_cpu_has("xgetbv1"))
        verdict_report(&verdict, "components in use are reported");
    else
        tap_skip("components in use are reported", "this CPU does not track use");
}

int main(int argc, char **argv) {
    const char *reason = argc ? replay_choose(argv[1]) : NULL;
    if (reason)
        return tap_skip_all(reason);
    if (fault_under_asan())
        return tap_skip_all("the sanitizer's own code uses vector registers");
    if (fault_under_valgrind())
        return tap_skip_all("valgrind preserves fewer registers than CPUs do");
    registers_prepare();
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        carry_cpu_set_mask(masks[i]);
        test_masks(masks[i]);
        test_save_and_load(masks[i]);
        test_clean(masks[i], CARRY_XSTATE_CLEAN_UPPERS, "uppers");
        test_clean(masks[i], CARRY_XSTATE_CLEAN_VECTORS, "vectors");
        test_clean(masks[i], CARRY_XSTATE_CLEAN_ALL, "all");
        test_clean_reads(masks[i]);
        test_threads();
    }
    carry_cpu_set_mask("");
    test_in_use();
    return tap_done();
}
