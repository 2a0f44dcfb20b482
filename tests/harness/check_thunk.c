/* SPDX-License-Identifier: MIT */
#include "harness/check_thunk.h"

#include <string.h>

#include <carry/cpu.h>

#include "harness/effort.h"
#include "harness/registers.h"
#include "harness/replay.h"
#include "harness/rng.h"

struct carry_thunk check_thunk_descriptor;
const void *check_thunk_entry;

#define UPPERS  (BIT(AVX) | BIT(ZMM_HI256))
#define AVX512  (BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM))
#define VECTORS (BIT(SSE) | BIT(AVX) | AVX512)

#define FLAG_DIRECTION 0x400

enum { ENTER, LEAVE, CALLBACKS };

/* The registers and arguments that a callback received. */
static struct seen {
    unsigned calls;
    const struct carry_thunk *thunk;
    struct carry_thunk_call call;
    uint8_t vectors[8][64];
    uint64_t stack[2];
    uint64_t flags;
    struct registers registers;
} seen[CALLBACKS];

/* The changes that callbacks make, by exclusive or. */
static struct carry_thunk_call change;
static uint8_t change_vectors;

/* The registers whose control words a callback must preserve. */
static const struct registers *control;

/* --- Callbacks --- */

static void copy_part(struct registers *to, const struct registers *from, unsigned component) {
    size_t size;
    uint8_t *part = registers_part(to->area, component, &size);
    memcpy(part, registers_part(from->area, component, &size), size);
}

static void copy_control(struct registers *to, const struct registers *from) {
    enum { X87_CONTROL = 24, MXCSR = 24, XSTATE_BV = 512 };
    memcpy(to->area, from->area, X87_CONTROL);
    memcpy(to->area + MXCSR, from->area + MXCSR, 4);
    copy_part(to, from, CARRY_XSTATE_X87);
    to->area[XSTATE_BV] =
        (uint8_t)((to->area[XSTATE_BV] & ~BIT(X87)) | (from->area[XSTATE_BV] & BIT(X87)));
}

static void change_call(struct carry_thunk_call *call, size_t vectors) {
    for (size_t i = 0; i < 6; i++)
        call->integer[i] ^= change.integer[i];
    for (size_t i = 0; i < 2; i++)
        call->result[i] ^= change.result[i];
    call->word ^= change.word;
    for (size_t i = 0; i < vectors * call->vector_size; i++)
        ((uint8_t *)call->vectors)[i] ^= change_vectors;
}

/*
 * Records what a callback received, changes the call, and overwrites registers. The replay is
 * paused until the last load of registers, because its single steps are slow.
 */
static void record_callback(struct seen *to, size_t vectors, const struct carry_thunk *thunk,
                            struct carry_thunk_call *call) {
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(to->flags));
    replay_pause();
    to->calls++;
    to->thunk = thunk;
    to->call = *call;
    for (size_t i = 0; i < vectors; i++)
        memcpy(to->vectors[i], (uint8_t *)call->vectors + i * call->vector_size, call->vector_size);
    memcpy(to->stack, call->stack, sizeof to->stack);
    change_call(call, vectors);
    if (control)
        copy_control(&registers_garbage, control);
    replay_resume();
    registers_spoil();
}

static void record_enter(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    registers_observe(&seen[ENTER].registers);
    record_callback(&seen[ENTER], 8, thunk, call);
}

static void record_leave(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    registers_observe(&seen[LEAVE].registers);
    control = &registers_given;
    record_callback(&seen[LEAVE], 2, thunk, call);
}

static void enter_any(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    registers_observe(&seen[ENTER].registers);
    record_callback(&seen[ENTER], 0, thunk, call);
}

/* --- Expectations ---  */

/* Returns the components that programs use on a CPU with the features in effect. */
static uint64_t known_components(void) {
    uint64_t known = BIT(X87) | BIT(SSE);
    if (carry_cpu_has("avx"))
        known |= BIT(AVX);
    if (carry_cpu_has("avx512f"))
        known |= AVX512;
    return known & registers_components();
}

static size_t vector_width(uint64_t in_use) {
    return in_use & BIT(ZMM_HI256) ? 64 : in_use & BIT(AVX) ? 32 : 16;
}

/* Returns whether the reported width of the vectors in use is exact. In emulators, XGETBV(1)
   reports all components as in use. */
static bool width_is_exact(void) {
    return registers_tell_use() || !carry_cpu_has("fast_xgetbv1");
}

/* Copies the parts of vector `index` that are in use. The other bytes of `to` become 0. */
static void copy_vector(const struct registers *registers, size_t index, uint8_t to[64]) {
    static const struct {
        unsigned component;
        size_t bytes, at;
    } rows[] = {
        {CARRY_XSTATE_SSE, 16, 0}, {CARRY_XSTATE_AVX, 16, 16}, {CARRY_XSTATE_ZMM_HI256, 32, 32}};
    size_t size;
    memset(to, 0, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (registers_in_use(registers) >> rows[i].component & 1)
            memcpy(to + rows[i].at,
                   registers_part(registers->area, rows[i].component, &size) +
                       index * rows[i].bytes,
                   rows[i].bytes);
}

/* Compares vectors after a callback that received, and changed, the first bytes of each vector. */
static bool compare_vectors(const struct registers *a, const struct registers *b, size_t count,
                            const struct seen *by, const char *where, struct verdict *verdict) {
    const size_t size = by->call.vector_size;
    for (size_t i = 0; i < count; i++) {
        uint8_t left[64], right[64];
        copy_vector(a, i, left);
        copy_vector(b, i, right);
        for (size_t j = 0; j < size; j++)
            left[j] ^= change_vectors;
        for (size_t j = 0; j < 64; j++)
            if (left[j] != right[j])
                return verdict_fail(verdict, "vector %zu differs %s at byte %zu; ", i, where, j);
    }
    /* Loading a wide vector also loads all narrower ones. */
    uint64_t loaded = size == 64 ? UPPERS : size == 32 ? BIT(AVX) : 0;
    uint64_t more = registers_in_use(b) & ~(loaded | registers_in_use(a)) & UPPERS;
    return !more || !registers_tell_use() ||
           verdict_fail(verdict, "puts %#llx in use %s; ", (unsigned long long)more, where);
}

static bool is_clean(const struct registers *registers, const char *where,
                     struct verdict *verdict) {
    static const struct registers clean;
    if (!carry_cpu_has("avx"))
        return true;
    if (registers_tell_use() && (registers_in_use(registers) & UPPERS))
        return verdict_fail(verdict, "upper halves are in use in %s; ", where);
    struct verdict found = {.ok = true};
    return registers_compare(&clean, registers, UPPERS & known_components(), &found) ||
           verdict_fail(verdict, "upper halves are dirty in %s; ", where);
}

static bool callback_received(const struct seen *by, const char *name,
                              const struct registers *registers, size_t vectors,
                              struct verdict *verdict) {
    const size_t wanted = vector_width(registers_in_use(registers));
    const size_t size = by->call.vector_size;
    if (by->calls != 1 || by->thunk != &check_thunk_descriptor)
        return verdict_fail(verdict, "%s is called %u times; ", name, by->calls);
    if (size < wanted || (size != wanted && width_is_exact()))
        return verdict_fail(verdict, "%s sees vectors of %zu bytes, not %zu; ", name, size, wanted);
    for (size_t i = 0; i < vectors; i++) {
        uint8_t bytes[64];
        copy_vector(registers, i, bytes);
        if (memcmp(bytes, by->vectors[i], wanted) != 0)
            return verdict_fail(verdict, "%s sees another vector %zu; ", name, i);
    }
    return is_clean(&by->registers, name, verdict);
}

static bool shown_integers(const struct seen *by, const char *name, const uint64_t *changes,
                           struct verdict *verdict) {
    static const unsigned order[6] = {RDI, RSI, RDX, RCX, R8, R9};
    for (size_t i = 0; i < 6; i++)
        if (by->call.integer[i] != (registers_in.gpr[order[i]] ^ changes[i]))
            return verdict_fail(verdict, "%s sees another argument %zu; ", name, i);
    return true;
}

static bool shown_stack(const struct seen *by, const char *name, struct verdict *verdict) {
    return memcmp(by->stack, registers_in.words, sizeof by->stack) == 0 ||
           verdict_fail(verdict, "%s sees other arguments on the stack; ", name);
}

/* Returns registers_in with the changes of the callbacks. */
static struct registers changed_in(void) {
    static const unsigned order[6] = {RDI, RSI, RDX, RCX, R8, R9};
    struct registers in = registers_in;
    for (size_t i = 0; i < 6; i++)
        in.gpr[order[i]] ^= change.integer[i];
    return in;
}

static bool target_sees(size_t words, struct verdict *verdict) {
    const struct registers in = changed_in();
    return registers_compare_gpr(&in, &registers_seen, ARGUMENTS, verdict) &&
           compare_vectors(&registers_in, &registers_seen, 8, &seen[ENTER], "in the target",
                           verdict) &&
           registers_compare(&registers_in, &registers_seen, BIT(X87), verdict) &&
           (memcmp(registers_in.words, registers_seen.words + 1, words * 8) == 0 ||
            verdict_fail(verdict, "the target sees other arguments on the stack; "));
}

/* --- Calls --- */

static void set_callbacks(const void *entry, carry_thunk_fn *first, carry_thunk_fn *last) {
    check_thunk_entry = entry;
    check_thunk_descriptor =
        (struct carry_thunk){.enter = first, .leave = last, .target = registers_target};
    for (size_t i = 0; i < CALLBACKS; i++)
        memset(&seen[i], 0, sizeof seen[i]);
    control = &registers_in;
}

static void make_registers(uint64_t in_use) {
    registers_dirty(&registers_in, in_use, true);
    registers_dirty(&registers_given, rng_next() & known_components(), false);
    registers_dirty(&registers_garbage, known_components(), true);
}

static bool enter_once(const void *entry, struct verdict *verdict) {
    set_callbacks(entry, record_enter, NULL);
    registers_call(check_thunk_stub, 0);
    const uint64_t unchanged[6] = {0};
    return callback_received(&seen[ENTER], "enter", &registers_in, 8, verdict) &&
           shown_integers(&seen[ENTER], "enter", unchanged, verdict) &&
           shown_stack(&seen[ENTER], "enter", verdict) && target_sees(STACK_WORDS - 1, verdict) &&
           registers_compare_gpr(&registers_in, &registers_seen, KEPT_BY_CALLS & ~(1 << RSP),
                                 verdict) &&
           (registers_seen.gpr[RSP] == registers_in.gpr[RSP] - 8 ||
            verdict_fail(verdict, "moves the target's stack; ")) &&
           ((uint64_t)(uintptr_t)seen[ENTER].call.return_address == registers_seen.words[0] ||
            verdict_fail(verdict, "enter sees another return address; ")) &&
           registers_compare_gpr(&registers_given, &registers_out, 1 << RAX | 1 << RDX, verdict) &&
           registers_compare(&registers_given, &registers_out, known_components(), verdict) &&
           registers_compare_gpr(&registers_in, &registers_out, KEPT_BY_CALLS, verdict);
}

static bool around_once(const void *entry, size_t words, struct verdict *verdict) {
    struct registers given;
    set_callbacks(entry, record_enter, record_leave);
    check_thunk_descriptor.stack_words = words;
    registers_call(check_thunk_stub, 0);
    const uint64_t unchanged[6] = {0};
    given = registers_given;
    given.gpr[RAX] ^= change.result[0];
    given.gpr[RDX] ^= change.result[1];
    return callback_received(&seen[ENTER], "enter", &registers_in, 8, verdict) &&
           shown_integers(&seen[ENTER], "enter", unchanged, verdict) &&
           shown_stack(&seen[ENTER], "enter", verdict) && target_sees(2 + words, verdict) &&
           (registers_seen.gpr[RSP] % 16 == 8 ||
            verdict_fail(verdict, "the target's stack is not aligned; ")) &&
           callback_received(&seen[LEAVE], "leave", &registers_given, 2, verdict) &&
           shown_integers(&seen[LEAVE], "leave", change.integer, verdict) &&
           shown_stack(&seen[LEAVE], "leave", verdict) &&
           ((seen[LEAVE].call.result[0] == registers_given.gpr[RAX] &&
             seen[LEAVE].call.result[1] == registers_given.gpr[RDX]) ||
            verdict_fail(verdict, "leave sees other results; ")) &&
           (seen[LEAVE].call.word == change.word ||
            verdict_fail(verdict, "the word is not preserved; ")) &&
           (seen[LEAVE].call.return_address == seen[ENTER].call.return_address ||
            verdict_fail(verdict, "leave sees another return address; ")) &&
           registers_compare_gpr(&given, &registers_out, 1 << RAX | 1 << RDX, verdict) &&
           compare_vectors(&registers_given, &registers_out, 2, &seen[LEAVE], "in the caller",
                           verdict) &&
           registers_compare(&registers_given, &registers_out, BIT(X87), verdict) &&
           registers_compare_gpr(&registers_in, &registers_out, KEPT_BY_CALLS, verdict) &&
           (memcmp(registers_in.words, registers_out.words, sizeof registers_in.words) == 0 ||
            verdict_fail(verdict, "writes to the caller's stack; "));
}

/*
 * Returns n: one of n calls is replayed. A thunk's branches depend only on the width of the vectors
 * in use. There are only three widths, so a sample of the calls has each of them often.
 */
static size_t replay_share(void) {
    return effort_chosen()->all ? 4 : 8;
}

static bool around_words(const void *entry, struct verdict *verdict) {
    for (size_t words = 0; words <= STACK_WORDS - 3; words++)
        if (!replay_leaves_out(replay_share()) && !around_once(entry, words, verdict))
            return false;
    return true;
}

/* --- All calls --- */

/* Returns the subset of `set` after `subset`; 0 after the last. */
static uint64_t next_subset(uint64_t subset, uint64_t set) {
    return (subset - set) & set;
}

typedef bool once_fn(const void *entry, struct verdict *verdict);

static bool try_subsets(const void *entry, once_fn *once, struct verdict *verdict) {
    uint64_t in_use = 0;
    do {
        make_registers(in_use);
        if (!replay_leaves_out(replay_share()) && !once(entry, verdict))
            return verdict_fail(verdict, "(in use: %#llx)", (unsigned long long)in_use);
        in_use = next_subset(in_use, known_components());
    } while (in_use);
    return true;
}

/* Tries a call whose vectors' upper halves are zero, except one byte in `component`. */
static bool try_byte(const void *entry, once_fn *once, unsigned component, size_t byte,
                     struct verdict *verdict) {
    size_t size;
    make_registers(BIT(SSE) | (UINT64_C(1) << component));
    uint8_t *part = registers_part(registers_in.area, component, &size);
    memset(part, 0, size);
    part[byte] = 1;
    return once(entry, verdict) || verdict_fail(verdict, "(byte %zu alone)", byte);
}

static bool try_bytes(const void *entry, once_fn *once, struct verdict *verdict) {
    for (unsigned i = CARRY_XSTATE_AVX; i <= CARRY_XSTATE_ZMM_HI256; i++) {
        if (!(UPPERS & known_components() & UINT64_C(1) << i))
            continue;
        const size_t bytes = i == CARRY_XSTATE_AVX ? 16 : 32;
        for (size_t byte = 0; byte < 8 * bytes; byte++)
            if (!try_byte(entry, once, i, byte, verdict))
                return false;
    }
    return true;
}

static void set_change(bool some) {
    memset(&change, 0, sizeof change);
    change.word = 0x1234;
    change_vectors = 0;
    if (!some)
        return;
    rng_fill(change.integer, sizeof change.integer);
    rng_fill(change.result, sizeof change.result);
    change_vectors = 0x81;
}

static struct verdict check_calls(const void *entry, once_fn *once) {
    struct verdict verdict = {.ok = true};
    rng_restart();
    for (int changes = 0; changes < 2 && verdict.ok; changes++) {
        set_change(changes);
        if (try_subsets(entry, once, &verdict) && !replay_is_on())
            try_bytes(entry, once, &verdict);
    }
    return verdict;
}

static bool around_twice(const void *entry, struct verdict *verdict) {
    return around_once(entry, 0, verdict);
}

/* Calls a thunk that lacks one or both callbacks. */
static bool without_callbacks(const void *entry, bool first, bool last, struct verdict *verdict) {
    set_change(false);
    make_registers(known_components());
    set_callbacks(entry, first ? record_enter : NULL, last ? record_leave : NULL);
    registers_call(check_thunk_stub, 0);
    return (seen[ENTER].calls == first && seen[LEAVE].calls == last) ||
           verdict_fail(verdict, "calls a callback that does not exist; ");
}

struct verdict check_thunk_enter(const void *entry) {
    struct verdict verdict = check_calls(entry, enter_once);
    if (verdict.ok && without_callbacks(entry, false, false, &verdict))
        target_sees(STACK_WORDS - 1, &verdict);
    return verdict;
}

struct verdict check_thunk_around(const void *entry) {
    struct verdict verdict = check_calls(entry, around_twice);
    set_change(false);
    make_registers(known_components());
    if (verdict.ok)
        around_words(entry, &verdict);
    for (int i = 0; i < 3 && verdict.ok; i++)
        if (without_callbacks(entry, i & 1, i & 2, &verdict) && target_sees(2, &verdict))
            registers_compare(&registers_given, &registers_out,
                              i & 2 ? BIT(X87) : known_components(), &verdict);
    return verdict;
}

struct verdict check_thunk_unprepared(const void *entry) {
    struct verdict verdict = {.ok = true};
    set_change(false);
    make_registers(known_components());
    set_callbacks(entry, record_enter, record_leave);
    registers_call(check_thunk_stub, 0);
    if (seen[ENTER].calls || seen[LEAVE].calls)
        verdict_fail(&verdict, "calls back");
    else
        target_sees(2, &verdict);
    return verdict;
}

/* --- Thunks for any point of a program --- */

/* Returns the components that can be loaded and that carry_thunk_any preserves. */
static uint64_t kept_at_any(void) {
    return registers_components() & carry_xstate_default();
}

static bool is_ready(const struct seen *by, struct verdict *verdict) {
    enum { FTW = 4 };
    if (registers_in_use(&by->registers) & BIT(X87) && by->registers.area[FTW])
        return verdict_fail(verdict, "x87 registers are in use in enter; ");
    if (by->flags & FLAG_DIRECTION)
        return verdict_fail(verdict, "the direction flag is set in enter; ");
    return is_clean(&by->registers, "enter", verdict);
}

/* Checks that the call puts no component in use that the thunk preserves. */
static bool same_use_at_any(struct verdict *verdict) {
    const uint64_t in_use = registers_in_use(&registers_in);
    const uint64_t more =
        registers_in_use(&registers_out) & ~in_use & kept_at_any() & ~BY_OTHERS(in_use);
    return !more || !registers_tell_use() || !carry_cpu_has("xsave") ||
           verdict_fail(verdict, "puts %#llx in use; ", (unsigned long long)more);
}

static bool any_once(const void *entry, struct verdict *verdict) {
    set_callbacks(entry, enter_any, NULL);
    control = NULL;
    registers_in.flags |= rng_next() & FLAG_DIRECTION;
    registers_call(check_thunk_stub_any, RED_ZONE);
    const uint64_t unchanged[6] = {0};
    const struct registers in = changed_in();
    const uint64_t *skipped = (const uint64_t *)(uintptr_t)registers_in.gpr[RSP];
    return (seen[ENTER].calls == 1 || verdict_fail(verdict, "enter is not called; ")) &&
           is_ready(&seen[ENTER], verdict) &&
           (seen[ENTER].call.stack == skipped ||
            verdict_fail(verdict, "enter sees another stack; ")) &&
           shown_integers(&seen[ENTER], "enter", unchanged, verdict) &&
           registers_compare_gpr(&in, &registers_out, 0xffff, verdict) &&
           (registers_out.flags == registers_in.flags ||
            verdict_fail(verdict, "flags are %#llx, not %#llx; ",
                         (unsigned long long)registers_out.flags,
                         (unsigned long long)registers_in.flags)) &&
           registers_compare(&registers_in, &registers_out, kept_at_any(), verdict) &&
           same_use_at_any(verdict) &&
           (registers_red_zone_kept() || verdict_fail(verdict, "writes to the red zone; "));
}

struct verdict check_thunk_any(const void *entry) {
    struct verdict verdict = {.ok = true};
    uint64_t in_use = 0;
    rng_restart();
    do {
        set_change(rng_next() & 1);
        change_vectors = 0;
        registers_dirty(&registers_in, in_use, false);
        registers_dirty(&registers_garbage, kept_at_any() & ~BIT(TILECFG), false);
        if (!replay_leaves_out(16) && !any_once(entry, &verdict))
            verdict_fail(&verdict, "(in use: %#llx)", (unsigned long long)in_use);
        in_use = next_subset(in_use, kept_at_any());
    } while (in_use && verdict.ok);
    return verdict;
}
