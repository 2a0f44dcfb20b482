/* SPDX-License-Identifier: MIT */
#include "harness/check_sites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/tap.h"
#include "patch/patch.h"

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
    tap_ok(count > call->count && direct.direct == inlined.direct + count,
           "direct calls are counted");
    tap_ok(!direct.inlined && inlined.inlined == count && !far.inlined,
           "inlined calls are counted");
    tap_ok(far.unpatched[CARRY_PATCH_RANGE] == inlined.unpatched[CARRY_PATCH_RANGE] + count,
           "calls out of range are counted");
    tap_ok(far.branches == placed_site_count(&kinds[PLACED_unlikely]) +
                               placed_site_count(&kinds[PLACED_likely]),
           "branches are counted");
    tap_ok(inlined.commits == direct.commits + 1 && inlined.written == direct.written + count,
           "commits and written sites are counted");
    tap_ok(direct.sites == inlined.sites && direct.sites == far.sites, "the sum stays");
}

/* --- Sites that hold something else --- */

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

static void corrupt(const uint8_t *byte) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint8_t *page = (uint8_t *)((uintptr_t)byte & ~(size - 1));
    mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    *(uint8_t *)(uintptr_t)byte ^= 0x40;
    mprotect(page, size, PROT_READ | PROT_EXEC);
}

/* Each byte of the first site in memory, of the last, and of one between. */
static bool refuses(const struct placed_kind *kind, size_t state) {
    const size_t sites[] = {0, kind->count / 2, kind->count - 1};
    bool ok = true;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        for (size_t byte = 0; byte < kind->length; byte++) {
            const uint8_t *place = kind->sites[sites[i]].site + byte;
            uintptr_t value = kind->key->value;
            corrupt(place);
            uint8_t *before = placed_copy_text();
            int error = placed_commit(kind->key, kind->states[state].value);
            ok = ok && error == CARRY_ERROR_BYTES && placed_text_is(before) &&
                 kind->key->value == value;
            free(before);
            corrupt(place);
        }
    return ok;
}

void check_refused(void) {
    const struct placed_kind *kinds = placed_kinds();
    for (size_t i = 0; i < PLACED_KINDS; i++) {
        const struct placed_kind *kind = &kinds[i];
        placed_commit(kind->key, kind->states[0].value);
        bool ok = refuses(kind, 1);
        placed_commit(kind->key, kind->states[1].value);
        ok = refuses(kind, 0) && ok;
        ok = placed_commit(kind->key, kind->states[0].value) == 0 && ok;
        tap_ok(ok, "%s: unknown bytes are refused, nothing is written", kind->name);
    }
}

void check_all_or_nothing(void) {
    const struct placed_kind *kinds = placed_kinds();
    struct carry_patch patch;
    const uint8_t *bad = kinds[PLACED_jump].sites[kinds[PLACED_jump].count - 1].site;
    corrupt(bad);
    uint8_t *before = placed_copy_text();
    carry_patch_begin(&patch);
    for (size_t i = 0; i < PLACED_KINDS; i++)
        carry_patch_set(&patch, kinds[i].key, kinds[i].states[1].value);
    tap_ok(carry_patch_commit(&patch) == CARRY_ERROR_BYTES && placed_text_is(before),
           "one bad site among all kinds: nothing is written");
    bool kept = true;
    for (size_t i = 0; i < PLACED_KINDS; i++)
        kept = kept && kinds[i].key->value == kinds[i].states[0].value;
    tap_ok(kept, "and no key changes");
    free(before);
    corrupt(bad);
}
