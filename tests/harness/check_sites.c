/* SPDX-License-Identifier: MIT */
#include "harness/check_sites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/site_record.h"
#include "harness/tap.h"
#include "patch/patch_internal.h"

/* --- Counts --- */

struct carry_patch_counts placed_counts(void) {
    struct carry_patch_counts now;
    carry_patch_stats(&now);
    return now;
}

size_t placed_site_count(const struct placed_kind *kind) {
    return carry_object_sites(carry_objects, (uintptr_t)kind->key).count;
}

static struct carry_patch_counts counts_with(const struct placed_kind *kind, size_t state) {
    placed_commit(kind->key, kind->states[state].value);
    return placed_counts();
}

void check_counts(void) {
    const struct placed_kind *kinds = placed_kinds();
    const struct placed_kind *call = &kinds[PLACED_call];
    const size_t count = placed_site_count(call);
    const struct carry_patch_counts direct = counts_with(call, 1);
    const struct carry_patch_counts inlined = counts_with(call, 2);
    const struct carry_patch_counts far = counts_with(call, 0);
    tap_ok(TAP_GT(count, call->count) && TAP_EQ(direct.direct, inlined.direct + count),
           "direct calls are counted");
    tap_ok(TAP_TRUE(!direct.inlined) && TAP_EQ(inlined.inlined, count) && TAP_TRUE(!far.inlined),
           "inlined calls are counted");
    tap_ok(TAP_EQ(far.unpatched[CARRY_PATCH_RANGE], inlined.unpatched[CARRY_PATCH_RANGE] + count),
           "calls out of range are counted");
    tap_ok(TAP_EQ(far.branches, placed_site_count(&kinds[PLACED_unlikely]) +
                                    placed_site_count(&kinds[PLACED_likely])),
           "branches are counted");
    tap_ok(TAP_EQ(inlined.commits, direct.commits + 1) &&
               TAP_EQ(inlined.written, direct.written + count),
           "commits and written sites are counted");
    tap_ok(TAP_EQ(direct.sites, inlined.sites) && TAP_EQ(direct.sites, far.sites),
           "the total remains");
}

/* --- Sites with unexpected bytes --- */

extern const uint8_t __executable_start[];
extern const uint8_t etext[];

uint8_t *placed_copy_text(void) {
    size_t size = (size_t)(etext - __executable_start);
    uint8_t *copy = malloc(size);
    memcpy(copy, __executable_start, size);
    return copy;
}

bool placed_text_is(const uint8_t *copy) {
    return !memcmp(copy, __executable_start, (size_t)(etext - __executable_start));
}

static void corrupt_byte(const uint8_t *byte) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint8_t *page = (uint8_t *)((uintptr_t)byte & ~(size - 1));
    mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    *(uint8_t *)(uintptr_t)byte ^= 0x40;
    mprotect(page, size, PROT_READ | PROT_EXEC);
}

/* Checks that a commit refuses a changed byte, for each byte of three sites: the first one in
   memory, the last one, and one in between. */
static bool refuses_corrupt(const struct placed_kind *kind, size_t state) {
    const size_t sites[] = {0, kind->count / 2, kind->count - 1};
    bool ok = true;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        for (size_t byte = 0; byte < kind->length; byte++) {
            const uint8_t *place = kind->sites[sites[i]].site + byte;
            uintptr_t value = kind->key->value;
            corrupt_byte(place);
            uint8_t *before = placed_copy_text();
            int error = placed_commit(kind->key, kind->states[state].value);
            ok = ok && error == CARRY_ERROR_BYTES && placed_text_is(before) &&
                 kind->key->value == value;
            free(before);
            corrupt_byte(place);
        }
    return ok;
}

void check_refused(void) {
    const struct placed_kind *kinds = placed_kinds();
    for (size_t i = 0; i < PLACED_KINDS; i++) {
        const struct placed_kind *kind = &kinds[i];
        placed_commit(kind->key, kind->states[0].value);
        bool ok = refuses_corrupt(kind, 1);
        placed_commit(kind->key, kind->states[1].value);
        ok = TAP_TRUE(refuses_corrupt(kind, 0)) && ok;
        ok = TAP_EQ(placed_commit(kind->key, kind->states[0].value), 0) && ok;
        tap_ok(ok, "%s: unknown bytes are refused, nothing is written", kind->name);
    }
}

void check_all_or_nothing(void) {
    const struct placed_kind *kinds = placed_kinds();
    struct carry_patch patch;
    const uint8_t *bad = kinds[PLACED_jump].sites[kinds[PLACED_jump].count - 1].site;
    corrupt_byte(bad);
    uint8_t *before = placed_copy_text();
    carry_patch_begin(&patch);
    for (size_t i = 0; i < PLACED_KINDS; i++)
        carry_patch_set(&patch, kinds[i].key, kinds[i].states[1].value);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), CARRY_ERROR_BYTES) &&
               TAP_TRUE(placed_text_is(before)),
           "one bad site among all kinds: the commit writes nothing");
    bool kept = true;
    for (size_t i = 0; i < PLACED_KINDS; i++)
        kept = kept && TAP_EQ(kinds[i].key->value, kinds[i].states[0].value);
    tap_ok(kept, "one bad site among all kinds: no key changes");
    free(before);
    corrupt_byte(bad);
}

/* --- Damaged records --- */

extern const uint8_t _end[]; /* after everything that is loaded of this program */

static struct carry_key damaged_key = {.value = 1};

/* The wrong pointers in damaged records. */
static const struct damage {
    const char *name;
    uint8_t kind, flags;
    const uint8_t *site, *key, *aux; /* NULL: the right one */
} damages[] = {
    {"the stub of a branch", CARRY_SITE_BRANCH, 0, NULL, NULL, _end},
    {"the end of a stub", CARRY_SITE_BRANCH, 0, NULL, NULL, _end - 8},
    {"the bytes of an alternative", CARRY_SITE_ALTERNATIVE, 0, NULL, NULL, _end},
    {"the second size of an alternative", CARRY_SITE_ALTERNATIVE, 0, NULL, NULL, _end - 1},
    {"a body", CARRY_SITE_BODY, 0, NULL, NULL, _end},
    {"the site of a call", CARRY_SITE_CALL, 0, _end, NULL, NULL},
    {"the site of a jump, in data", CARRY_SITE_JUMP, 0, (const uint8_t *)&damaged_key, NULL, NULL},
    {"the key of a call", CARRY_SITE_CALL, 0, NULL, _end, NULL},
    {"the end of the key of a branch", CARRY_SITE_BRANCH, 0, NULL, _end - 8, NULL},
    {"the name of a feature", CARRY_SITE_ALTERNATIVE, CARRY_SITE_BY_FEATURE, NULL, _end, NULL},
};
#define DAMAGES (sizeof damages / sizeof *damages)

/* Returns the pointer to store in a damaged record: `sound` if `damaged` is NULL. For _end, returns
   an address so far after the end of the program that nothing is mapped there. */
static uintptr_t address_for(const uint8_t *damaged, const void *sound) {
    const uintptr_t nowhere = (uintptr_t)_end + (UINT32_C(1) << 30);
    return damaged == _end ? nowhere : damaged ? (uintptr_t)damaged : (uintptr_t)sound;
}

static void damage_record(struct carry_site *record, const struct damage *by) {
    const struct placed_kind *kind =
        &placed_kinds()[by->kind == CARRY_SITE_BRANCH ? PLACED_unlikely : PLACED_call];
    const bool is_body = by->kind == CARRY_SITE_BODY;
    const void *key = is_body ? (const void *)kind->states[1].value : (const void *)&damaged_key;
    const void *site = kind->sites[0].site;
    site_record_make(record, (enum carry_site_kind)by->kind, address_for(by->site, site),
                     address_for(by->key, key), (const uint8_t *)address_for(by->aux, site),
                     is_body ? 0 : kind->length, by->flags);
}

void check_damaged(void) {
    static struct carry_site records[DAMAGES];
    for (size_t i = 0; i < DAMAGES; i++) {
        const struct placed_kind *call = &placed_kinds()[PLACED_call];
        damage_record(&records[i], &damages[i]);
        const struct carry_patch_counts before = placed_counts();
        bool ok = !carry_patch_register(&records[i], &records[i] + 1);
        const struct carry_patch_counts after = placed_counts();
        ok = ok && TAP_EQ(after.unpatched[CARRY_PATCH_UNKNOWN_KIND],
                          before.unpatched[CARRY_PATCH_UNKNOWN_KIND] + 1);
        uint8_t *text = placed_copy_text();
        ok = ok && TAP_EQ(placed_commit(&damaged_key, 2 + i), 0) && TAP_TRUE(placed_text_is(text));
        free(text);
        ok = ok && TAP_EQ(placed_commit(call->key, call->states[1].value), 0) &&
             TAP_EQ(placed_commit(call->key, call->states[0].value), 0) &&
             TAP_EQ(carry_patch_apply(0), CARRY_OK);
        carry_patch_unregister(&records[i]);
        tap_ok(ok, "%s at an unmapped address: the record is counted and otherwise ignored",
               damages[i].name);
    }
}
