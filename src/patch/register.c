/* SPDX-License-Identifier: MIT */
/* Registration of objects and of the keys that they import; the switch that turns patching on. */
#include "patch/patch_internal.h"

bool carry_patch_applied;
size_t carry_unrecorded;

static int register_records(const struct carry_site *start, size_t count,
                            const struct carry_parts *parts) {
    if (carry_object_is_registered(start))
        return CARRY_OK;
    const struct carry_object *object = carry_object_add(start, count, parts);
    if (!object)
        return CARRY_ERROR_MEMORY;
    return carry_patch_applied ? carry_commit_object(object) : CARRY_OK;
}

int carry_patch_register(const struct carry_site *start, const struct carry_site *stop) {
    const struct carry_parts parts = carry_parts_of(start);
    int error = CARRY_OK;
    if (start != stop && carry_host_text()->before_register)
        carry_host_text()->before_register(carry_site_address(start));
    carry_host_text()->lock();
    if (start == stop)
        carry_unrecorded++;
    else
        error = register_records(start, (size_t)(stop - start), &parts);
    carry_host_text()->unlock();
    return error;
}

void carry_patch_unregister(const struct carry_site *start) {
    carry_host_text()->lock();
    if (carry_object_is_registered(start))
        carry_object_remove(start);
    else if (!start && carry_unrecorded)
        carry_unrecorded--;
    if (!carry_objects)
        carry_commit_release();
    carry_host_text()->unlock();
}

int carry_patch_apply(unsigned flags) {
    /* The library registers its own sites here, as it has no start-up code. */
    int error = CARRY_OK;
    if ((uintptr_t)__start_carry_sites != (uintptr_t)__stop_carry_sites)
        error = carry_patch_register(__start_carry_sites, __stop_carry_sites);
    if (error)
        return error;
    carry_host_text()->lock();
    carry_patch_applied = true;
    error = carry_commit_objects(flags & CARRY_PATCH_QUIET);
    carry_host_text()->unlock();
    return error;
}

/* --- Keys of other objects --- */

int carry_patch_import(struct carry_key *import, struct carry_key *key) {
    int error = CARRY_OK;
    if (import == key) /* exporter and importer were linked into one object */
        return error;
    carry_host_text()->lock();
    if (key->original)
        key = key->original;
    import->original = key;
    if (carry_patch_applied)
        error = carry_commit_import(import);
    import->imports = key->imports;
    key->imports = import;
    __atomic_store_n(&import->value, key->value, __ATOMIC_RELEASE);
    carry_host_text()->unlock();
    return error;
}

void carry_patch_unimport(struct carry_key *import) {
    if (!import->original)
        return;
    carry_host_text()->lock();
    struct carry_key **place = &import->original->imports;
    while (*place && *place != import)
        place = &(*place)->imports;
    if (*place)
        *place = import->imports;
    carry_host_text()->unlock();
}
