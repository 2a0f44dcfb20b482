/* SPDX-License-Identifier: MIT */
/* Tests the sites of x86-64: their bytes in each state, refusals, and compiled code around them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <carry/cpu.h>

#include "harness/check_patch.h"
#include "harness/check_sites.h"
#include "harness/fault.h"
#include "harness/patch_dirty.h"
#include "harness/site_record.h"
#include "harness/tap.h"
#include "patch/patch_internal.h"

enum { CALL, JUMP, UNLIKELY, LIKELY, BYTES1, BYTES2, BYTES4, BYTES5, BYTES10, EMPTY10 };

static const struct placed_kind *kinds;

/* --- Bytes --- */

/*
 * Returns whether a site holds a pattern of hexadecimal bytes and 32-bit offsets. In the pattern, K
 * is the offset to the site's key, and F the offset to the function. S and a digit of base 36 are
 * the offset to that many bytes after the start of the site; * is any offset.
 */
static bool site_holds(const struct placed_kind *kind, size_t site, size_t state,
                       const char *pattern) {
    const uint8_t *bytes = kind->sites[site].site;
    size_t at = 0;
    for (char *end; *pattern; pattern += *pattern == ' ') {
        int32_t offset;
        memcpy(&offset, bytes + at, sizeof offset);
        uintptr_t target = (uintptr_t)bytes + at + 4 + (uintptr_t)(intptr_t)offset;
        uintptr_t wanted = target;
        char what = *pattern++;
        if (what == 'K')
            wanted = (uintptr_t)kind->key;
        else if (what == 'F')
            wanted = kind->states[state].value;
        else if (what == 'S')
            wanted = (uintptr_t)bytes + strtoul((char[]){*pattern++, 0}, NULL, 36);
        else if (what != '*') {
            if (bytes[at++] != strtoul(pattern - 1, &end, 16))
                return false;
            pattern = end;
            continue;
        }
        if (target != wanted)
            return false;
        at += 4;
    }
    return at == kind->length;
}

static void expect_bytes(size_t kind, size_t state, const char *pattern, const char *name) {
    size_t wrong = 0;
    for (size_t i = 0; i < kinds[kind].count; i++)
        wrong += !site_holds(&kinds[kind], i, state, pattern) ||
                 kinds[kind].sites[i].function(PLACED_ARGUMENT) != kinds[kind].states[state].result;
    tap_ok(TAP_EQ(wrong, 0), "%s: %s: %s", kinds[kind].name, name, pattern);
}

/* The states, in an order in which each is reached from a different one. */
static const struct {
    size_t kind;
    size_t state;
    const char *bytes;
    const char *name;
} states[] = {
    {CALL, 1, "2e e8 F", "direct"},
    {CALL, 2, "2e 2e 48 8d 47 03", "inlined"},
    {CALL, 3, "8b 05 *", "inlined, with an operand in memory"},
    {CALL, 4, "66 0f 1f 44 00 00", "nothing"},
    {CALL, 0, "ff 15 K", "out of range"},
    {CALL, 2, "2e 2e 48 8d 47 03", "inlined again"},
    {CALL, 5, "2e e8 F", "direct again"},
    {JUMP, 1, "2e e9 F", "direct"},
    {JUMP, 0, "ff 25 K", "out of range"},
    {JUMP, 2, "2e e9 F", "never inlined"},
    {UNLIKELY, 1, "e9 S6", "on"},
    {UNLIKELY, 0, "0f 1f 44 00 00", "off"},
    {LIKELY, 1, "0f 1f 44 00 00", "on"},
    {LIKELY, 0, "e9 S6", "off"},
    {BYTES1, 1, "f9", "replaced"},
    {BYTES1, 0, "f8", "restored"},
    {BYTES2, 1, "ff c8", "replaced"},
    {BYTES2, 0, "31 c0", "restored"},
    {BYTES4, 1, "2e 8d 40 02", "replaced"},
    {BYTES4, 0, "8d 44 00 01", "restored"},
    {BYTES5, 1, "b8 02 00 00 00", "replaced"},
    {BYTES5, 0, "b8 01 00 00 00", "restored"},
    {BYTES10, 1, "2e 2e 2e 2e 2e b8 02 00 00 00", "replaced"},
    {BYTES10, 0, "48 b8 88 77 66 55 44 33 22 11", "restored"},
    {EMPTY10, 1, "2e 66 0f 1f 84 00 00 00 00 00", "replaced by nothing"},
    {EMPTY10, 0, "48 b8 88 77 66 55 44 33 22 11", "restored"},
};

static void test_original(void) {
    expect_bytes(CALL, 0, "ff 15 K", "original");
    expect_bytes(JUMP, 0, "ff 25 K", "original");
    expect_bytes(UNLIKELY, 0, "e9 Sc", "original");
    expect_bytes(LIKELY, 0, "e9 Sc", "original");
}

static void test_states(void) {
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const struct placed_kind *kind = &kinds[states[i].kind];
        if (placed_commit(kind->key, kind->states[states[i].state].value))
            tap_ok(false, "%s: commit", kind->name);
        expect_bytes(states[i].kind, states[i].state, states[i].bytes, states[i].name);
    }
}

/* Checks a body without a prefix, and a body whose second byte is the opcode of a call. */
static void test_inlined(void) {
    static const uint8_t subtraction[] = {0x81, 0xe8, 1, 0, 0, 0};
    const struct placed_kind *call = &kinds[CALL];
    placed_commit(call->key, call->states[3].value);
    tap_ok(TAP_EQ(placed_counts().inlined, placed_site_count(call)),
           "a body is inlined without a prefix");
    tap_ok(carry_encode_is_inline(&(struct carry_site){.kind = CARRY_SITE_CALL}, subtraction),
           "any body is inlined");
    placed_commit(call->key, call->states[0].value);
}

/* A body too short for the four bytes of its offset is refused: its function is called directly. */
static void test_short_body(void) {
    static const uint8_t aux[] = {0, 0, 0, 3, 0x0f, 0x1f, 0x00};
    const struct carry_site *site =
        carry_object_sites(carry_objects, (uintptr_t)kinds[CALL].key).first[0];
    static struct carry_site body;
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    site_record_make(&body, CARRY_SITE_BODY, 0, 0, NULL, 0, CARRY_SITE_RELATIVE);
    body.aux = site_record_distance(&body.aux, (uintptr_t)aux + 3);
    tap_ok(TAP_TRUE(carry_encode(site, (uintptr_t)aux, &body, bytes)) && TAP_EQ(bytes[0], 0x2e) &&
               TAP_EQ(bytes[1], 0xe8),
           "a relative body that is too short for an offset is not inlined");
}

/* Only a jump to the instruction after the site becomes a NOP: a call of that instruction must
 * still push a return address. */
static void test_next(void) {
    static const uint8_t nop[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    static struct carry_site jump, call;
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    jump.kind = CARRY_SITE_JUMP;
    call.kind = CARRY_SITE_CALL;
    const uintptr_t next = carry_site_address(&jump) + sizeof nop;
    tap_ok(TAP_TRUE(carry_encode(&jump, next, NULL, bytes)) &&
               TAP_EQ(memcmp(bytes, nop, sizeof nop), 0),
           "a jump to what follows becomes a NOP");
    tap_ok(TAP_TRUE(carry_encode(&jump, next + 1, NULL, bytes)) && TAP_EQ(bytes[1], 0xe9),
           "a jump behind that remains a jump");
    tap_ok(TAP_TRUE(carry_encode(&call, carry_site_address(&call) + sizeof nop, NULL, bytes)) &&
               TAP_EQ(bytes[1], 0xe8),
           "a call of what follows remains a call");
}

/* --- Records of newer libraries --- */

static unsigned resolved;

static uintptr_t must_not_be_asked(void) {
    resolved++;
    return 0;
}

static struct carry_key other_key = {.resolve = must_not_be_asked};

static uint64_t add9(uint64_t number) {
    return number + 9;
}

static void test_unknown(void) {
    static const uint8_t body[] = {4, 0x48, 0x8d, 0x47, 0x63}; /* lea 99(%rdi), %rax */
    static const uint8_t empty[2];
    static struct carry_site made[] = {
        {.kind = 99, .length = 6, .version = CARRY_SITE_VERSION},
        {.kind = 0, .length = 6, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_CALL, .length = 6, .version = CARRY_SITE_VERSION + 1},
        {.kind = CARRY_SITE_CALL, .length = 5, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_JUMP, .length = 7, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_BRANCH, .length = 2, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 0, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 3, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 4, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ENTRY, .length = 6, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_BODY, .version = CARRY_SITE_VERSION + 1},
    };
    const size_t count = sizeof made / sizeof *made;
    for (size_t i = 0; i < count; i++) {
        bool is_body = made[i].kind == CARRY_SITE_BODY;
        made[i].site = site_record_distance(&made[i].site, (uintptr_t)add9);
        made[i].key =
            site_record_distance(&made[i].key, is_body ? (uintptr_t)add9 : (uintptr_t)&other_key);
        made[i].aux = site_record_distance(&made[i].aux,
                                           (uintptr_t)(is_body || made[i].length ? body : empty));
    }
    struct carry_patch_counts before = placed_counts();
    tap_ok(TAP_EQ(carry_patch_register(made, made + count), 0),
           "records of newer libraries are accepted");
    struct carry_patch_counts after = placed_counts();
    tap_ok(TAP_EQ(after.objects, before.objects + 1) &&
               TAP_EQ(after.unpatched[CARRY_PATCH_UNKNOWN_KIND],
                      before.unpatched[CARRY_PATCH_UNKNOWN_KIND] + count - 1),
           "records of newer libraries are counted");
    uint8_t *text = placed_copy_text();
    tap_ok(TAP_EQ(placed_commit(&other_key, 1), 0) && TAP_TRUE(placed_text_is(text)),
           "sites of newer libraries are not changed");
    free(text);
    other_key.resolve = must_not_be_asked;
    carry_patch_apply(0);
    tap_ok(TAP_EQ(resolved, 0), "keys of newer libraries are not resolved");
    placed_commit(kinds[CALL].key, (uintptr_t)add9);
    tap_ok(TAP_EQ(kinds[CALL].sites[0].function(1), 10),
           "bodies of newer libraries are not inlined");
    placed_commit(kinds[CALL].key, kinds[CALL].states[0].value);
    carry_patch_unregister(made);
    tap_ok(TAP_EQ(placed_counts().objects, before.objects) &&
               TAP_EQ(placed_counts().sites, before.sites),
           "records of newer libraries are counted until their object is unloaded");
}

/* --- Alternatives of several instructions, and by feature --- */

CARRY_KEY(several);
CARRY_KEY_DEFINE(several, false);

__asm__(".text\nalt_seven: movl $7, %eax\nret\n"
        "alt_nine: movl $9, %eax\njmp alt_back\n");

#define ALTERNATIVE(name, text)                                                                    \
    __attribute__((noinline)) static int name(void) {                                              \
        int result;                                                                                \
        __asm__ __volatile__("subq $136, %%rsp\n\t" text "addq $136, %%rsp"                        \
                             : "=a"(result)                                                        \
                             : CARRY_ALT_INPUT(several)                                            \
                             : "rcx", "cc", "memory");                                             \
        return result;                                                                             \
    }

/* Names a feature that the library does not know, as programs built with a newer header may. */
#define BY_NO_FEATURE                                                                              \
    CARRY_ALT_TEXT("call alt_seven", CARRY_ALT_PAD, "movl $8, %%eax", CARRY_ALT_NAME("nonesuch"),  \
                   "1")

ALTERNATIVE(by_feature, CARRY_ALT("call alt_seven", avx2, "movl $8, %%eax"))
ALTERNATIVE(by_no_feature, BY_NO_FEATURE)
ALTERNATIVE(by_feature_one, CARRY_ALT_ONE("movq $1, %%rax", avx2, "movl $2, %%eax"))
ALTERNATIVE(by_key, CARRY_ALT_KEY("movl $1, %%eax\n\tincl %%eax", several,
                                  "movl $10, %%eax\n\tincl %%eax\n\tincl %%eax"))
ALTERNATIVE(to_call, CARRY_ALT_KEY("movl $1, %%eax", several, "call alt_seven\n\tincl %%eax"))
ALTERNATIVE(from_call, CARRY_ALT_KEY("call alt_seven\n\tincl %%eax", several, "movl $1, %%eax"))
ALTERNATIVE(to_jump, CARRY_ALT_KEY("movl $1, %%eax", several, "jmp alt_nine") "alt_back:\n\t")
ALTERNATIVE(longest, CARRY_ALT_KEY("movl $1, %%eax", several,
                                   "movl $2, %%eax\n\t.skip 57, 0x90\n\tincl %%eax"))
ALTERNATIVE(too_long, CARRY_ALT_KEY("movl $1, %%eax", several,
                                    "movl $2, %%eax\n\t.skip 58, 0x90\n\tincl %%eax"))

static bool alternatives_are(bool on) {
    return by_key() == (on ? 12 : 2) && to_call() == (on ? 8 : 1) && from_call() == (on ? 1 : 8) &&
           to_jump() == (on ? 9 : 1) && longest() == (on ? 3 : 1) && too_long() == 1;
}

static void *nap(void *unused) {
    return unused;
}

static void test_alternatives(void) {
    tap_ok(TAP_EQ(placed_counts().unpatched[CARRY_PATCH_UNKNOWN_KIND], 1),
           "an alternative that is too long is refused");
    tap_ok(TAP_EQ(by_feature(), 7) && TAP_EQ(by_no_feature(), 7) && TAP_EQ(by_feature_one(), 1),
           "alternatives by feature are original before they are patched");
    carry_patch_apply(0);
    bool has = carry_cpu_has("avx2");
    tap_ok(TAP_EQ(by_feature(), 7 + has) && TAP_EQ(by_no_feature(), 7) &&
               TAP_EQ(by_feature_one(), 1 + has),
           "alternatives by feature are replaced");
    tap_ok(alternatives_are(false), "alternatives by key are original at first");
    placed_commit(&carry_key_several, 1);
    tap_ok(alternatives_are(true), "alternatives of several instructions are replaced");
    placed_commit(&carry_key_several, 0);
    tap_ok(alternatives_are(false), "alternatives of several instructions are restored");
}

/* Tests alternatives after a thread has started: from then on the library assumes that there are
   other threads. */
static void test_quiescence(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nap, NULL);
    pthread_join(thread, NULL);
    tap_ok(TAP_EQ(placed_commit(&carry_key_several, 1), 0) && TAP_TRUE(alternatives_are(false)),
           "with threads, alternatives of several instructions do not change");
    tap_ok(TAP_EQ(placed_counts().unpatched[CARRY_PATCH_QUIESCENCE], 5),
           "unchanged alternatives are counted");
    tap_ok(TAP_EQ(carry_patch_apply(CARRY_PATCH_QUIET), 0) && TAP_TRUE(alternatives_are(true)),
           "alternatives change when the program declares that it is quiet");
    tap_ok(TAP_EQ(placed_counts().unpatched[CARRY_PATCH_QUIESCENCE], 0),
           "changed alternatives are no longer counted");
    placed_commit(&carry_key_several, 0);
    tap_ok(alternatives_are(true), "with threads, alternatives are not restored");
    carry_patch_apply(CARRY_PATCH_QUIET);
    tap_ok(alternatives_are(false), "alternatives are restored when the program is quiet again");
}

/* --- Code of the compiler around a call --- */

static uint64_t clean(uint64_t vectors) {
    (void)vectors;
    return 8;
}

CARRY_OP_DEFINE(dirty, clean);

static uint64_t has_avx512;

/* Looks like a leaf to the compiler: its array is in the red zone, and its frame is not aligned. */
__attribute__((noinline)) static bool leaf_keeps_stack(uint64_t seed) {
    volatile uint64_t kept[13];
    for (size_t i = 0; i < 13; i++)
        kept[i] = seed * (i + 3);
    bool aligned = carry_call(dirty)(has_avx512) == 8;
    for (size_t i = 0; i < 13; i++)
        if (kept[i] != seed * (i + 3))
            return false;
    return aligned;
}

/* Has no frame except for the call. */
__attribute__((noinline)) static uint64_t bare_leaf(uint64_t vectors) {
    return carry_call(dirty)(vectors);
}

/* Has more values than there are callee-saved registers. */
__attribute__((noinline)) static bool keeps_integers(uint64_t s) {
    uint64_t a = s * 3, b = s * 5, c = s * 7, d = s * 11, e = s * 13, f = s * 17, g = s * 19,
             h = s * 23, i = s * 29, j = s * 31, k = s * 37, l = s * 41, m = s * 43;
    __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    __asm__("" : "+r"(i), "+r"(j), "+r"(k), "+r"(l), "+r"(m));
    bool aligned = carry_call(dirty)(has_avx512) == 8;
    return aligned && a == s * 3 && b == s * 5 && c == s * 7 && d == s * 11 && e == s * 13 &&
           f == s * 17 && g == s * 19 && h == s * 23 && i == s * 29 && j == s * 31 && k == s * 37 &&
           l == s * 41 && m == s * 43;
}

__attribute__((noinline)) static bool keeps_vectors(double s) {
    double a = s * 3, b = s * 5, c = s * 7, d = s * 11, e = s * 13, f = s * 17, g = s * 19,
           h = s * 23;
    __asm__("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h));
    bool aligned = carry_call(dirty)(has_avx512) == 8;
    return aligned && a + b + c + d + e + f + g + h == s * 98;
}

/*
 * Called by address, as from other files: for direct calls the compiler would use its knowledge of
 * the function, and might align the stack by chance.
 */
static const struct {
    bool (*volatile leaf)(uint64_t);
    uint64_t (*volatile bare)(uint64_t);
    bool (*volatile integers)(uint64_t);
    bool (*volatile vectors)(double);
} strangers = {leaf_keeps_stack, bare_leaf, keeps_integers, keeps_vectors};

static void test_compiler(const char *state) {
    bool ok = true;
    for (uint64_t seed = 1; seed < 10; seed++)
        ok = ok && TAP_TRUE(strangers.leaf(seed)) && TAP_EQ(strangers.bare(has_avx512), 8) &&
             TAP_TRUE(strangers.integers(seed)) && TAP_TRUE(strangers.vectors((double)seed)) &&
             TAP_TRUE(!has_avx512 || patch_keeps_avx512((double)seed));
    tap_ok(ok, "leaf functions keep stack, red zone and registers: %s", state);
}

static void test_callees(void) {
    has_avx512 = carry_cpu_has("avx512bw") && !fault_under_valgrind();
    test_compiler("before");
    placed_fn *far = placed_far(patch_dirty);
    if (far) {
        placed_commit(&carry_op_dirty, (uintptr_t)far);
        test_compiler("out of range");
    } else {
        tap_skip("leaf functions", "no memory out of range of direct calls");
    }
    placed_commit(&carry_op_dirty, (uintptr_t)patch_dirty);
    test_compiler("direct");
}

int main(void) {
    kinds = placed_kinds();
    test_original();
    placed_commit(kinds[CALL].key, kinds[CALL].states[1].value);
    if (carry_patch_refusal) {
        tap_skip("states", "no text can be written here: %s",
                 carry_patch_reason_name(carry_patch_refusal));
        test_callees();
        return tap_done();
    }
    test_alternatives();
    test_states();
    check_counts();
    test_inlined();
    test_short_body();
    test_next();
    check_refused();
    check_all_or_nothing();
    test_unknown();
    check_damaged();
    test_callees();
    test_quiescence();
    return tap_done();
}
