/* SPDX-License-Identifier: MIT */
/*
 * Tests the sites of AArch64: their instructions in each state, their range, refusals, and changes
 * while threads run them.
 *
 * usage: test_patch_aarch64 GUARD ("remap" or "jump", as in carry_patch_select())
 */
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/check_patch.h"
#include "harness/check_sites.h"
#include "harness/effort.h"
#include "harness/site_record.h"
#include "harness/tap.h"
#include "patch/patch_internal.h"

enum { CALL, JUMP, UNLIKELY, LIKELY, WORD, EMPTY };

static const struct placed_kind *kinds;

/* --- Instructions --- */

#define NOP    0xd503201f
#define B(to)  (0x14000000 | ((uint32_t)(to)&0x3ffffff)) /* in instructions, from the site */
#define BL(to) (0x94000000 | ((uint32_t)(to)&0x3ffffff))
#define ADD3   0x91000c00 /* add x0, x0, 3 */
#define MOV(n) (0xd2800000 | (n) << 5)

/* The states, in an order in which each is reached from a different one. */
static const struct {
    size_t kind;
    size_t state;
    uint32_t instruction;
    bool to_function; /* the offset leads to the state's function */
    const char *name;
} states[] = {
    {CALL, 1, BL(0), true, "direct"},
    {CALL, 2, ADD3, false, "inlined"},
    {CALL, 0, BL(3), false, "out of range"},
    {CALL, 2, ADD3, false, "inlined again"},
    {CALL, 3, BL(0), true, "direct, as a body cannot be relative"},
    {CALL, 4, BL(0), true, "direct again"},
    {JUMP, 1, B(0), true, "direct"},
    {JUMP, 0, B(1), false, "out of range"},
    {JUMP, 2, B(0), true, "never inlined"},
    {UNLIKELY, 1, B(2), false, "on"},
    {UNLIKELY, 0, NOP, false, "off"},
    {LIKELY, 1, NOP, false, "on"},
    {LIKELY, 0, B(2), false, "off"},
    {WORD, 1, MOV(2), false, "replaced"},
    {WORD, 0, MOV(1), false, "restored"},
    {EMPTY, 1, NOP, false, "replaced by nothing"},
    {EMPTY, 0, MOV(1), false, "restored"},
};

static uint32_t instruction_at(const uint8_t *site) {
    uint32_t instruction;
    memcpy(&instruction, site, sizeof instruction);
    return instruction;
}

static void expect_state(const struct placed_kind *kind, size_t state, uint32_t instruction,
                         bool to_function, const char *name) {
    size_t wrong = 0;
    for (size_t i = 0; i < kind->count; i++) {
        const uint8_t *site = kind->sites[i].site;
        uint32_t wanted = instruction;
        if (to_function)
            wanted |= B((kind->states[state].value - (uintptr_t)site) / 4) & 0x3ffffff;
        wrong += instruction_at(site) != wanted ||
                 kind->sites[i].function(PLACED_ARGUMENT) != kind->states[state].result;
    }
    tap_ok(TAP_EQ(wrong, 0), "%s: %s", kind->name, name);
}

static void test_original(void) {
    expect_state(&kinds[CALL], 0, BL(3), false, "original");
    expect_state(&kinds[JUMP], 0, B(1), false, "original");
    expect_state(&kinds[UNLIKELY], 0, B(4), false, "original");
    expect_state(&kinds[LIKELY], 0, B(4), false, "original");
}

static void test_states(void) {
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const struct placed_kind *kind = &kinds[states[i].kind];
        if (placed_commit(kind->key, kind->states[states[i].state].value))
            tap_ok(false, "%s: commit", kind->name);
        expect_state(kind, states[i].state, states[i].instruction, states[i].to_function,
                     states[i].name);
    }
}

/* Tests calls replaced by nothing: the result is the previous content of the register. */
static void test_nothing(void) {
    const struct placed_kind *call = &kinds[CALL];
    size_t wrong = placed_commit(call->key, (uintptr_t)carry_patch_nothing) != 0;
    for (size_t i = 0; i < call->count; i++)
        wrong += instruction_at(call->sites[i].site) != NOP || call->sites[i].function(5) != 5;
    tap_ok(TAP_EQ(wrong, 0), "call: replaced by nothing");
    placed_commit(call->key, call->states[0].value);
}

/* --- Range --- */

static void test_reach(void) {
    static const intptr_t reach = (intptr_t)1 << 27;
    static const struct {
        intptr_t distance;
        bool reaches;
    } cases[] = {
        {reach - 4, true},   {reach, false},     {-reach, true}, {-reach - 4, false},
        {INT64_MAX, false},  {2, false},         {0, true},      {(intptr_t)1 << 32, false},
        {-reach + 1, false}, {reach - 1, false},
    };
    const struct carry_site *site =
        carry_object_sites(carry_objects, (uintptr_t)kinds[CALL].key).first[0];
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[CARRY_SITE_BYTES_MAX];
        uintptr_t function = carry_site_address(site) + (uintptr_t)cases[i].distance;
        bool reaches = carry_encode(site, function, NULL, bytes);
        wrong += reaches != cases[i].reaches ||
                 (reaches && instruction_at(bytes) != BL(cases[i].distance / 4));
    }
    tap_ok(TAP_EQ(wrong, 0), "calls reach up to 128 MiB");
}

/* --- Records of newer libraries --- */

static struct carry_key other_key;

static void test_unknown(void) {
    static const uint8_t aux[8] __attribute__((aligned(4))) = {4, 0};
    static const uint8_t odd[8] __attribute__((aligned(4))) = {2, 0};
    static struct carry_site made[] = {
        {.kind = 99, .length = 4, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_CALL, .length = 4, .version = CARRY_SITE_VERSION + 1},
        {.kind = CARRY_SITE_CALL, .length = 8, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_JUMP, .length = 0, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_BRANCH, .length = 3, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 0, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 6, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_ALTERNATIVE, .length = 4, .version = CARRY_SITE_VERSION},
        {.kind = CARRY_SITE_CALL, .length = 4, .version = CARRY_SITE_VERSION},
    };
    const size_t count = sizeof made / sizeof *made;
    for (size_t i = 0; i < count; i++) {
        bool is_last = i == count - 1; /* inside an instruction */
        made[i].site =
            site_record_distance(&made[i].site, (uintptr_t)kinds[CALL].sites[0].site + 2 * is_last);
        made[i].key = site_record_distance(&made[i].key, (uintptr_t)&other_key);
        made[i].aux = site_record_distance(&made[i].aux, (uintptr_t)(i == count - 2 ? odd : aux));
    }
    struct carry_patch_counts before = placed_counts();
    uint32_t instruction = instruction_at(kinds[CALL].sites[0].site);
    tap_ok(TAP_EQ(carry_patch_register(made, made + count), 0),
           "records of newer libraries are accepted");
    struct carry_patch_counts after = placed_counts();
    tap_ok(TAP_EQ(after.unpatched[CARRY_PATCH_UNKNOWN_KIND],
                  before.unpatched[CARRY_PATCH_UNKNOWN_KIND] + count),
           "records of newer libraries are counted");
    tap_ok(TAP_EQ(placed_commit(&other_key, 1), 0) &&
               TAP_EQ(instruction_at(kinds[CALL].sites[0].site), instruction),
           "sites of newer libraries are not changed");
    carry_patch_unregister(made);
}

/* --- Alternatives of several instructions --- */

CARRY_KEY(several);
CARRY_KEY_DEFINE(several, false);

__asm__(".text\nalt_seven: mov w0, 7\nret\n"
        "alt_nine: mov w0, 9\nb alt_back\n");

#define ALTERNATIVE(name, text)                                                                    \
    __attribute__((noinline)) static int name(void) {                                              \
        register int result __asm__("w0");                                                         \
        __asm__ __volatile__(text : "=r"(result) : CARRY_ALT_INPUT(several) : "x30", "memory");    \
        return result;                                                                             \
    }

ALTERNATIVE(by_feature, CARRY_ALT("mov w0, 7", neon, "mov w0, 8"))
ALTERNATIVE(by_key, CARRY_ALT_KEY("mov w0, 1\n\tadd w0, w0, 1", several,
                                  "mov w0, 10\n\tadd w0, w0, 1\n\tadd w0, w0, 1"))
ALTERNATIVE(shorter, CARRY_ALT_KEY("mov w0, 1\n\tadd w0, w0, 1", several, "mov w0, 5"))
ALTERNATIVE(to_call, CARRY_ALT_KEY("mov w0, 1", several, "bl alt_seven\n\tadd w0, w0, 1"))
ALTERNATIVE(from_call, CARRY_ALT_KEY("bl alt_seven\n\tadd w0, w0, 1", several, "mov w0, 1"))
ALTERNATIVE(to_jump, CARRY_ALT_KEY("mov w0, 1", several, "b alt_nine") "\nalt_back:\n\t")

static bool alternatives_are(bool on) {
    return by_key() == (on ? 12 : 2) && shorter() == (on ? 5 : 2) && to_call() == (on ? 8 : 1) &&
           from_call() == (on ? 1 : 8) && to_jump() == (on ? 9 : 1);
}

static void test_alternatives(void) {
    tap_ok(TAP_EQ(by_feature(), 7), "an alternative by feature before it is patched");
    carry_patch_apply(0);
    tap_ok(TAP_EQ(by_feature(), 8), "an alternative by feature after it is patched");
    tap_ok(alternatives_are(false), "alternatives by key are original at first");
    placed_commit(&carry_key_several, 1);
    tap_ok(alternatives_are(true), "alternatives of several instructions are replaced");
    placed_commit(&carry_key_several, 0);
    tap_ok(alternatives_are(false), "alternatives of several instructions are restored");
}

/* --- With threads --- */

static bool in_place; /* pages are not exchanged */

static void test_flips(void) {
    size_t rounds = effort_chosen()->rounds / 4;
    for (size_t i = 0; i < PLACED_KINDS; i++) {
        struct verdict verdict = check_flips(&kinds[i], rounds, 2);
        verdict_report(&verdict, "%s: changed %zu times while threads run it", kinds[i].name,
                       rounds);
    }
    struct verdict verdict = check_parked(effort_chosen()->rounds / 100 + 1);
    verdict_report(&verdict, "calls change while threads are inside them");
}

/* Without page exchange, only B, BL and NOP change while threads run. */
static void test_in_place(void) {
    const struct placed_kind *call = &kinds[CALL];
    tap_ok(TAP_EQ(placed_commit(call->key, call->states[2].value), 0),
           "a body can be set with threads");
    tap_ok(TAP_EQ(placed_counts().inlined, in_place ? 0 : placed_site_count(call)) &&
               TAP_EQ(call->sites[0].function(1), 4),
           in_place ? "a body is called with threads" : "replaces calls");
    placed_commit(call->key, call->states[1].value);
    tap_ok(TAP_EQ(placed_commit(kinds[WORD].key, 1), 0) &&
               TAP_EQ(kinds[WORD].sites[0].function(0), in_place ? 1 : 2),
           in_place ? "alternatives do not change with threads"
                    : "alternatives change with threads");
    tap_ok(TAP_EQ(in_place, !!placed_counts().unpatched[CARRY_PATCH_PERMISSION]),
           "unchanged alternatives are counted");
    placed_commit(kinds[WORD].key, 0);
    tap_ok(TAP_STREQ(placed_counts().guard, in_place ? "none" : "remap"), "the guard is reported");
}

/* The content of a site at each synchronisation of all cores. */
static const uint8_t *watched;
static uint32_t seen[4];
static size_t seen_count;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    bool counts = watched && number == SYS_membarrier &&
                  a == MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE && seen_count < 4;
    if (counts)
        seen[seen_count++] = instruction_at(watched);
    return __real_syscall(number, a, b, c, d, e, f);
}

/* A thread that runs the new branch must see data that was written before. */
static void test_order(void) {
    const struct placed_kind *branch = &kinds[UNLIKELY];
    placed_commit(branch->key, 0);
    watched = branch->sites[0].site;
    placed_commit(branch->key, 1);
    watched = NULL;
    bool both = seen_count == 2 && seen[0] == NOP && seen[1] == B(2);
    bool once = seen_count == 1 && seen[0] == B(2);
    tap_ok(in_place ? both : once, "cores are synchronised after each change, in place before too");
}

static int commit_both(const struct placed_kind *kind, size_t state,
                       const struct placed_kind *other, size_t other_state) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, kind->key, kind->states[state].value);
    carry_patch_set(&patch, other->key, other->states[other_state].value);
    return carry_patch_commit(&patch);
}

/* Sites that cannot change do not prevent other changes. */
static void test_together(void) {
    const struct placed_kind *call = &kinds[CALL];
    const struct placed_kind *word = &kinds[WORD];
    const uint64_t replaced = in_place ? 1 : 2;
    tap_ok(TAP_EQ(commit_both(call, 4, word, 1), 0) && TAP_EQ(call->sites[0].function(5), 6) &&
               TAP_EQ(word->sites[0].function(0), replaced),
           "calls change beside alternatives");
    tap_ok(TAP_EQ(in_place, !!placed_counts().unpatched[CARRY_PATCH_PERMISSION]),
           "alternatives that did not change are counted");
    commit_both(call, 2, word, 0);
    carry_patch_apply(CARRY_PATCH_QUIET);
    tap_ok(TAP_EQ(placed_counts().inlined, placed_site_count(call)),
           "bodies are inlined while no thread runs their sites");
    tap_ok(TAP_EQ(commit_both(call, 2, word, 1), 0) &&
               TAP_EQ(placed_counts().inlined, placed_site_count(call)) &&
               TAP_EQ(word->sites[0].function(0), replaced),
           "inlined bodies remain with threads");
    int error = placed_commit(call->key, call->states[1].value);
    tap_ok(TAP_EQ(error, in_place ? CARRY_ERROR_PERMISSION : 0) &&
               TAP_EQ(call->sites[0].function(5), in_place ? 8 : 7),
           in_place ? "inlined bodies cannot change with threads"
                    : "inlined bodies change with threads");
}

int main(int argc, char **argv) {
    if (argc != 2 || carry_patch_select(NULL, argv[1]))
        return 2;
    in_place = strcmp(argv[1], "remap") != 0;
    kinds = placed_kinds();
    test_original();
    test_states();
    test_nothing();
    test_reach();
    check_counts();
    check_refused();
    check_all_or_nothing();
    test_unknown();
    test_alternatives();
    check_damaged();
    test_flips();
    test_in_place();
    test_order();
    test_together();
    return tap_done();
}
