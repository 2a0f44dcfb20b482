/* SPDX-License-Identifier: MIT */
/* Statistics: how many sites are in which state, and what commits did. */
#include "patch/patch_internal.h"

static enum carry_patch_reason unpatched_reason(const struct carry_site *site) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    if (!carry_encode(site, carry_site_value(site), NULL, bytes))
        return CARRY_PATCH_RANGE;
    if (carry_patch_refusal)
        return carry_patch_refusal;
    return carry_site_is_multi_insn(site) && carry_patch_applied ? CARRY_PATCH_QUIESCENCE
                                                                 : CARRY_PATCH_NOT_ASKED;
}

static bool wants_original(const struct carry_site *site) {
    return !carry_site_value(site) &&
           (site->kind == CARRY_SITE_ALTERNATIVE ||
            (site->kind == CARRY_SITE_ENTRY && site->flags & CARRY_SITE_SINGLE));
}

static void count_site(const struct carry_site *site, struct carry_patch_counts *stats) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    stats->sites++;
    if (!carry_encode_supports(site)) {
        stats->unpatched[CARRY_PATCH_UNKNOWN_KIND]++;
        return;
    }
    carry_encode_original(site, bytes);
    if (carry_site_holds(site, bytes) && !wants_original(site))
        stats->unpatched[unpatched_reason(site)]++;
    else if (site->kind == CARRY_SITE_ALTERNATIVE)
        stats->alternatives++;
    else if (site->kind == CARRY_SITE_BRANCH)
        stats->branches++;
    else if (site->kind == CARRY_SITE_ENTRY)
        stats->entries++;
    else if (carry_encode_is_inline(site, (const uint8_t *)carry_site_address(site)))
        stats->inlined++;
    else
        stats->direct++;
}

static void count_sites(struct carry_patch_counts *stats) {
    for (const struct carry_object *object = carry_objects; object; object = object->next) {
        stats->objects++;
        stats->sites += object->records - object->count;
        stats->unpatched[CARRY_PATCH_UNKNOWN_KIND] += object->records - object->count;
        for (size_t i = 0; i < object->count; i++)
            if (object->by_key[i]->kind != CARRY_SITE_BODY)
                count_site(object->by_key[i], stats);
    }
}

void carry_patch_stats(struct carry_patch_counts *stats) {
    __builtin_memset(stats, 0, sizeof *stats);
    carry_host_text()->lock();
    count_sites(stats);
    carry_commit_account(stats);
    stats->unrecorded = carry_unrecorded;
    stats->backend = carry_host_text()->backend();
    carry_host_text()->unlock();
}

const char *carry_patch_reason_name(enum carry_patch_reason reason) {
    static const char *const names[] = {
        [CARRY_PATCH_NOT_ASKED] = "not asked",       [CARRY_PATCH_RANGE] = "range",
        [CARRY_PATCH_UNKNOWN_KIND] = "unknown kind", [CARRY_PATCH_QUIESCENCE] = "quiescence",
        [CARRY_PATCH_PERMISSION] = "permission",     [CARRY_PATCH_NO_SYNC] = "no sync",
    };
    return (unsigned)reason < CARRY_PATCH_REASONS ? names[reason] : "unknown";
}
