/* SPDX-License-Identifier: MIT */
#include "harness/check_thunk_aarch64.h"

#include <execinfo.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/rng.h"
#include "xstate/aarch64/thunk.h"

struct carry_thunk check_thunk_descriptor;
const void *check_thunk_entry;

enum { VECTORS = 32, PREDICATES = 16, QUAD_BYTES = 16, HALF_BYTES = 8 };

static struct whole in, out;

/* The arguments that callbacks received. */
static struct seen {
    unsigned calls;
    struct carry_thunk_call call;
    uint64_t stack[2];
    uint8_t vectors[8 * 256];
} entered, left;

/* The number that callbacks combine with arguments and results by exclusive or. */
static uint64_t change;

__asm__(".text\n"
        ".globl check_thunk_stub\n"
        "check_thunk_stub:\n\t"
        "hint #34\n\t"
        "adrp x16, :got:check_thunk_entry\n\t"
        "ldr x16, [x16, :got_lo12:check_thunk_entry]\n\t"
        "ldr x17, [x16]\n\t"
        "adrp x16, :got:check_thunk_descriptor\n\t"
        "ldr x16, [x16, :got_lo12:check_thunk_descriptor]\n\t"
        "br x17");

void check_thunk_start(void) {
    whole_mode = carry_thunk_detect() & 1 << MACHINE_SVE ? 1 << WHOLE_SCALABLE : 0;
}

/* --- Callbacks --- */

static void note_arguments(struct seen *seen, struct carry_thunk_call *call, size_t vectors) {
    seen->calls++;
    seen->call = *call;
    memcpy(seen->stack, call->stack, sizeof seen->stack);
    memcpy(seen->vectors, call->vectors, vectors * call->vector_size);
    for (size_t i = 0; i < vectors * call->vector_size; i++)
        ((uint8_t *)call->vectors)[i] ^= (uint8_t)change;
}

void check_thunk_note_enter(struct carry_thunk_call *call) {
    note_arguments(&entered, call, 8);
    for (size_t i = 0; i < CARRY_THUNK_INTEGERS; i++)
        call->integer[i] ^= change;
    call->word = 7;
    whole_spoil();
}

void check_thunk_note_leave(struct carry_thunk_call *call) {
    note_arguments(&left, call, 4);
    call->result[0] ^= change;
    call->result[1] ^= change;
    whole_spoil();
}

static void record_enter(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk;
    check_thunk_note_enter(call);
}

static void record_leave(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk;
    check_thunk_note_leave(call);
}

/* --- Expectations --- */

/*
 * Compares `size` bytes of each vector from `first` to `last`. If `changed`, `b` must contain the
 * change that callbacks make.
 */
static bool same_vectors(const struct whole *a, const struct whole *b, size_t first, size_t last,
                         size_t size, bool changed, const char *where, struct verdict *verdict) {
    const size_t bytes = whole_vector_bytes();
    for (size_t i = first; i <= last; i++)
        for (size_t j = 0; j < size; j++)
            if ((a->vectors[i * bytes + j] ^ (changed ? (uint8_t)change : 0)) !=
                b->vectors[i * bytes + j])
                return verdict_fail(verdict, "vector %zu differs %s at byte %zu; ", i, where, j);
    return true;
}

static bool same_predicates(const struct whole *a, const struct whole *b, size_t first,
                            const char *where, struct verdict *verdict) {
    const size_t bytes = whole_vector_bytes(), size = bytes / 8;
    if (!(whole_mode >> WHOLE_SCALABLE & 1))
        return true;
    for (size_t i = first; i < PREDICATES; i++)
        if (memcmp(a->vectors + VECTORS * bytes + i * size, b->vectors + VECTORS * bytes + i * size,
                   size) != 0)
            return verdict_fail(verdict, "predicate %zu differs %s; ", i, where);
    return true;
}

static bool same_integers(const struct whole *a, const struct whole *b, size_t first, size_t last,
                          uint64_t by, const char *where, struct verdict *verdict) {
    for (size_t i = first; i <= last; i++)
        if ((a->integers[i] ^ by) != b->integers[i])
            return verdict_fail(verdict, "x%zu differs %s; ", i == WHOLE_X18 ? 18 : i, where);
    return true;
}

static bool same_kept(const struct whole *a, const struct whole *b, size_t count, const char *where,
                      struct verdict *verdict) {
    for (size_t i = 0; i < count; i++)
        if (a->kept[i] != b->kept[i])
            return verdict_fail(verdict, "x%zu differs %s; ", 19 + i, where);
    return same_vectors(a, b, 8, 15, HALF_BYTES, false, where, verdict);
}

/* Checks what the target received. If `framed`, its x29 is the frame pointer of the thunk. */
static bool target_sees(size_t words, bool framed, bool whole, struct verdict *verdict) {
    const char *where = "in the target";
    const struct whole *seen = &whole_seen;
    const size_t bytes = whole ? whole_vector_bytes() : QUAD_BYTES;
    const bool changed = entered.calls != 0;
    return same_integers(&in, seen, 0, 7, changed ? change : 0, where, verdict) &&
           same_integers(&in, seen, 8, whole ? 15 : 8, 0, where, verdict) &&
           same_integers(&in, seen, WHOLE_X18, WHOLE_X18, 0, where, verdict) &&
           same_kept(&in, seen, framed ? WHOLE_KEPT - 1 : WHOLE_KEPT, where, verdict) &&
           same_vectors(&in, seen, 0, 7, bytes, changed, where, verdict) &&
           (!whole || (same_vectors(&in, seen, 8, VECTORS - 1, bytes, false, where, verdict) &&
                       same_predicates(&in, seen, 0, where, verdict))) &&
           (memcmp(in.words, seen->words, words * sizeof *in.words) == 0 ||
            verdict_fail(verdict, "other words on the stack of the target; "));
}

static bool caller_sees(bool whole, struct verdict *verdict) {
    const char *where = "in the caller";
    const struct whole *given = &whole_given;
    const size_t bytes = whole ? whole_vector_bytes() : QUAD_BYTES;
    const size_t predicates = PREDICATES * whole_vector_bytes() / 8;
    struct whole expected = in;
    memcpy(expected.vectors + VECTORS * whole_vector_bytes(),
           given->vectors + VECTORS * whole_vector_bytes(), predicates / 4);
    return same_integers(given, &out, 0, 1, left.calls ? change : 0, where, verdict) &&
           same_vectors(given, &out, 0, 3, bytes, left.calls != 0, where, verdict) &&
           same_kept(&in, &out, WHOLE_KEPT, where, verdict) &&
           (!whole || (same_vectors(given, &out, 4, 7, bytes, false, where, verdict) &&
                       same_vectors(&in, &out, 8, VECTORS - 1, bytes, false, where, verdict) &&
                       same_predicates(&expected, &out, 0, where, verdict) &&
                       same_integers(&in, &out, 9, WHOLE_X18, 0, where, verdict))) &&
           (memcmp(in.words, out.words, sizeof in.words) == 0 ||
            verdict_fail(verdict, "other words on the stack of the caller; "));
}

static bool shown_to(const struct seen *seen, const char *name, const struct whole *vectors,
                     size_t count, bool whole, struct verdict *verdict) {
    const size_t bytes = whole_vector_bytes(), size = whole ? bytes : QUAD_BYTES;
    if (seen->calls != 1)
        return verdict_fail(verdict, "%s is called %u times; ", name, seen->calls);
    if (seen->call.vector_size != size)
        return verdict_fail(verdict, "%s sees vectors of %zu bytes; ", name,
                            (size_t)seen->call.vector_size);
    for (size_t i = 0; i < count; i++)
        if (memcmp(seen->vectors + i * size, vectors->vectors + i * bytes, size) != 0)
            return verdict_fail(verdict, "%s sees another vector %zu; ", name, i);
    for (size_t i = 0; i < CARRY_THUNK_INTEGERS; i++)
        if (seen->call.integer[i] != (in.integers[i] ^ (seen == &left ? change : 0)))
            return verdict_fail(verdict, "%s sees another argument %zu; ", name, i);
    return memcmp(seen->stack, in.words, sizeof seen->stack) == 0 ||
           verdict_fail(verdict, "%s sees other arguments on the stack; ", name);
}

static bool shown_results(struct verdict *verdict) {
    if (left.call.result[0] != whole_given.integers[0] ||
        left.call.result[1] != whole_given.integers[1])
        return verdict_fail(verdict, "leave sees other results; ");
    if (left.call.return_address != entered.call.return_address || !left.call.return_address)
        return verdict_fail(verdict, "leave sees another return address; ");
    return left.call.word == 7 || verdict_fail(verdict, "the word is not preserved; ");
}

/* --- Calls --- */

static void make_registers(void) {
    rng_fill(&in, sizeof in);
    rng_fill(&whole_given, sizeof whole_given);
    memset(&entered, 0, sizeof entered);
    memset(&left, 0, sizeof left);
    memset(&whole_seen, 0, sizeof whole_seen);
}

static void call_thunk(const void *entry, carry_thunk_fn *first, carry_thunk_fn *last,
                       size_t words) {
    make_registers();
    check_thunk_entry = entry;
    check_thunk_descriptor = (struct carry_thunk){
        .enter = first, .leave = last, .target = (const void *)whole_target, .stack_words = words};
    whole_call(check_thunk_stub, &in, &out);
}

struct verdict check_thunk_unprepared(const void *entry) {
    struct verdict verdict = {.ok = true};
    change = 0;
    call_thunk(entry, record_enter, record_leave, 0);
    if (entered.calls || left.calls)
        verdict_fail(&verdict, "calls back");
    else if (target_sees(WHOLE_WORDS, false, true, &verdict))
        caller_sees(true, &verdict);
    return verdict;
}

struct verdict check_thunk_enter(const void *entry, bool whole) {
    struct verdict verdict = {.ok = true};
    for (change = 0; change < 0x100 && verdict.ok; change += 0x81) {
        call_thunk(entry, record_enter, NULL, 0);
        if (shown_to(&entered, "enter", &in, 8, whole, &verdict) &&
            target_sees(WHOLE_WORDS, false, whole, &verdict))
            caller_sees(whole, &verdict);
    }
    call_thunk(entry, NULL, NULL, 0);
    if (verdict.ok && target_sees(WHOLE_WORDS, false, whole, &verdict))
        caller_sees(whole, &verdict);
    return verdict;
}

struct verdict check_thunk_around(const void *entry, bool whole) {
    struct verdict verdict = {.ok = true};
    for (size_t words = 0; words <= WHOLE_WORDS - 2 && verdict.ok; words++) {
        change = words & 1 ? 0x81 : 0;
        call_thunk(entry, record_enter, record_leave, words);
        if (shown_to(&entered, "enter", &in, 8, whole, &verdict) &&
            shown_to(&left, "leave", &whole_given, 4, whole, &verdict) && shown_results(&verdict) &&
            target_sees(2 + words, true, whole, &verdict))
            caller_sees(whole, &verdict);
    }
    for (int i = 0; i < 3 && verdict.ok; i++) {
        call_thunk(entry, i & 1 ? record_enter : NULL, i & 2 ? record_leave : NULL, 0);
        if (entered.calls != (i & 1) || left.calls != (unsigned)i >> 1)
            verdict_fail(&verdict, "calls a callback that does not exist; ");
        else if (target_sees(2, true, whole, &verdict))
            caller_sees(whole, &verdict);
    }
    return verdict;
}

struct verdict check_thunk_hooked(const void *function, bool enters, bool leaves) {
    struct verdict verdict = {.ok = true};
    change = 0x42;
    make_registers();
    whole_call(function, &in, &out);
    if (entered.calls != enters || left.calls != leaves)
        verdict_fail(&verdict, "enter is called %u times, leave %u; ", entered.calls, left.calls);
    else if (target_sees(leaves ? WHOLE_WORDS - 2 : WHOLE_WORDS, leaves, true, &verdict))
        caller_sees(true, &verdict);
    return verdict;
}

/* --- Backtraces --- */

enum { FRAMES_MAX = 16, FUNCTION_BYTES = 256 };

static unsigned looks, finds;
static const void *caller;

/* Returns whether a backtrace from here contains the caller's text. */
static __attribute__((noinline)) bool finds_caller(void) {
    void *frames[FRAMES_MAX];
    const int count = backtrace(frames, FRAMES_MAX);
    for (int i = 0; i < count; i++)
        if ((uintptr_t)frames[i] - (uintptr_t)caller < FUNCTION_BYTES)
            return true;
    return false;
}

static void make_backtrace(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
    looks++;
    finds += finds_caller();
}

static int look_back(int number) {
    make_backtrace(NULL, NULL);
    return number + 1;
}

typedef int number_fn(int);

static __attribute__((noinline)) bool call_looking(void) {
    return ((number_fn *)(uintptr_t)check_thunk_stub)(41) == 42;
}

struct verdict check_thunk_backtraces(const void *entry, bool around) {
    struct verdict verdict = {.ok = true};
    caller = (const void *)call_looking;
    check_thunk_entry = entry;
    check_thunk_descriptor = (struct carry_thunk){
        .enter = make_backtrace, .leave = make_backtrace, .target = (const void *)look_back};
    looks = finds = 0;
    if (!call_looking() || looks != (around ? 3 : 2))
        verdict_fail(&verdict, "%u looks; ", looks);
    else if (finds != looks)
        verdict_fail(&verdict, "%u backtraces of %u find the caller; ", finds, looks);
    return verdict;
}

/* --- Targets without landing pads --- */

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#define GUARDED_BYTES 65536 /* no page is larger */

int check_thunk_guarded(int number);
__asm__(".pushsection .text.guarded, \"ax\", %progbits\n\t"
        ".balign 65536\n\t"
        ".globl check_thunk_guarded\n\t"
        ".hidden check_thunk_guarded\n"
        "check_thunk_guarded: nop\n\t"
        "add w0, w0, #1\n\t"
        "ret\n\t"
        ".balign 65536\n\t"
        ".popsection");

static void do_nothing(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
}

bool check_thunk_reaches_guarded(const void *entry) {
    void *page = (void *)(uintptr_t)check_thunk_guarded;
    check_thunk_entry = entry;
    check_thunk_descriptor =
        (struct carry_thunk){.enter = do_nothing, .leave = do_nothing, .target = page};
    bool ok = !mprotect(page, GUARDED_BYTES, PROT_READ | PROT_EXEC | PROT_BTI) && call_looking();
    return !mprotect(page, GUARDED_BYTES, PROT_READ | PROT_EXEC) && ok;
}
