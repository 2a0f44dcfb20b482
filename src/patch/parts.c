/* SPDX-License-Identifier: MIT */
/*
 * Validation of records. A record in a damaged file may point to memory that does not exist; an
 * intact record points into its own object; only the function of a body may be in another. Every
 * record is checked once, when its object is registered, so that commits can follow its pointers.
 */
#include "patch/patch_internal.h"

struct carry_parts carry_parts_of(const struct carry_site *records) {
    struct carry_parts parts = {.count = 0};
    const size_t limit = sizeof parts.part / sizeof *parts.part;
    if (records && carry_host_text()->parts)
        parts.count = carry_host_text()->parts((uintptr_t)records, parts.part, limit);
    /* If there are more parts, records may lie in a part that is missing here: check none. */
    if (parts.count > limit)
        parts.count = 0;
    return parts;
}

static const struct carry_text_part *find_loaded_part(const struct carry_parts *parts,
                                                      uintptr_t address) {
    for (size_t i = 0; i < parts->count; i++)
        if (address - parts->part[i].low < parts->part[i].high - parts->part[i].low)
            return &parts->part[i];
    return NULL;
}

static bool parts_hold_bytes(const struct carry_parts *parts, uintptr_t address, size_t size) {
    const struct carry_text_part *part = find_loaded_part(parts, address);
    return !size || (part && size <= part->high - address);
}

static bool parts_hold_text(const struct carry_parts *parts, const struct carry_site *record) {
    const struct carry_text_part *part = find_loaded_part(parts, carry_site_address(record));
    return part && part->executable &&
           parts_hold_bytes(parts, carry_site_address(record), record->length ? record->length : 1);
}

static bool parts_hold_name(const struct carry_parts *parts, uintptr_t name) {
    const struct carry_text_part *part = find_loaded_part(parts, name);
    while (part && name < part->high && *(const char *)name)
        name++;
    return part && name < part->high;
}

static bool parts_hold_key(const struct carry_parts *parts, const struct carry_site *record) {
    const uintptr_t key = carry_site_key(record);
    if (record->kind == CARRY_SITE_BODY) /* a function, maybe of another object */
        return true;
    if (record->kind == CARRY_SITE_ALTERNATIVE && record->flags & CARRY_SITE_BY_FEATURE)
        return parts_hold_name(parts, key);
    return parts_hold_bytes(parts, key, sizeof(struct carry_key));
}

static bool parts_hold_aux(const struct carry_parts *parts, const struct carry_site *record) {
    const uintptr_t aux = carry_site_target(&record->aux);
    return parts_hold_bytes(parts, aux, carry_encode_aux_bytes(record, false)) &&
           parts_hold_bytes(parts, aux, carry_encode_aux_bytes(record, true));
}

bool carry_parts_hold(const struct carry_parts *parts, const struct carry_site *record) {
    if (!parts->count || record->version != CARRY_SITE_VERSION)
        return true;
    return parts_hold_text(parts, record) && parts_hold_key(parts, record) &&
           parts_hold_aux(parts, record);
}
