/* SPDX-License-Identifier: MIT */
/* The objects that have sites, what their sites are, and how they stand. */
#include "cpu/cpu.h"
#include "patch/patch.h"

struct carry_object *carry_objects;

/* Operations and keys of objects without a record. */
static size_t unrecorded;

/* Who looks for an address without the lock: see forget(). */
static unsigned readers;

/* --- Order --- */

static bool comes_before(const void *a, const void *b) {
    const struct carry_site *site_a = *(const struct carry_site *const *)a;
    const struct carry_site *site_b = *(const struct carry_site *const *)b;
    uintptr_t key_a = carry_site_key(site_a);
    uintptr_t key_b = carry_site_key(site_b);
    return key_a != key_b ? key_a < key_b : carry_site_address(site_a) < carry_site_address(site_b);
}

/* Sites before the bodies that are told at the same place. */
static bool lies_before(const void *a, const void *b) {
    const struct carry_site *site_a = *(const struct carry_site *const *)a;
    const struct carry_site *site_b = *(const struct carry_site *const *)b;
    uintptr_t address_a = carry_site_address(site_a);
    uintptr_t address_b = carry_site_address(site_b);
    if (address_a != address_b)
        return address_a < address_b;
    return site_a->kind != CARRY_SITE_BODY && site_b->kind == CARRY_SITE_BODY;
}

/* How many records name keys before this one. */
static size_t count_before_key(const struct carry_object *object, uintptr_t key) {
    size_t low = 0;
    for (size_t high = object->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (carry_site_key(object->by_key[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct carry_sites carry_object_sites(const struct carry_object *object, uintptr_t key) {
    size_t first = count_before_key(object, key);
    size_t end = count_before_key(object, key + 1);
    return (struct carry_sites){object->by_key + first, end - first};
}

/* How many records tell of places before this address. */
static size_t count_before(const struct carry_object *object, uintptr_t address) {
    size_t low = 0;
    for (size_t high = object->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (carry_site_address(object->by_address[middle]) < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef bool find_fn(const struct carry_object *object, uintptr_t address);

static bool has_site(const struct carry_object *object, uintptr_t address) {
    size_t i = count_before(object, address);
    return i < object->count && carry_site_address(object->by_address[i]) == address &&
           object->by_address[i]->kind != CARRY_SITE_BODY;
}

static bool has_site_around(const struct carry_object *object, uintptr_t address) {
    size_t i = count_before(object, address);
    while (i && object->by_address[i - 1]->kind == CARRY_SITE_BODY)
        i--;
    return i && address - carry_site_address(object->by_address[i - 1]) <
                    object->by_address[i - 1]->length;
}

static bool is_in_any(find_fn *find_in, uintptr_t address) {
    bool found = false;
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
    for (struct carry_object *object = __atomic_load_n(&carry_objects, __ATOMIC_SEQ_CST);
         object && !found; object = __atomic_load_n(&object->next, __ATOMIC_SEQ_CST))
        found = find_in(object, address);
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
    return found;
}

bool carry_patch_is_site(uintptr_t address) {
    return is_in_any(has_site, address);
}

bool carry_patch_is_inside(uintptr_t address) {
    return is_in_any(has_site_around, address);
}

void carry_patch_forked(void) {
    __atomic_store_n(&readers, 0, __ATOMIC_SEQ_CST);
}

/* --- Registration --- */

static struct carry_object **find(const struct carry_site *start) {
    struct carry_object **place = &carry_objects;
    while (*place && (*place)->start != start)
        place = &(*place)->next;
    return place;
}

static size_t object_bytes(size_t count) {
    return sizeof(struct carry_object) + 2 * count * sizeof(const struct carry_site *);
}

static struct carry_object *make_object(const struct carry_site *start, size_t count) {
    struct carry_object *object = carry_host_text()->allocate(object_bytes(count));
    if (!object)
        return NULL;
    object->next = NULL;
    object->start = start;
    object->count = count;
    object->by_address = object->by_key + count;
    for (size_t i = 0; i < count; i++)
        object->by_key[i] = object->by_address[i] = &start[i];
    carry_sort(object->by_key, count, sizeof *object->by_key, comes_before);
    carry_sort(object->by_address, count, sizeof *object->by_address, lies_before);
    return object;
}

static int add_object(const struct carry_site *start, size_t count) {
    struct carry_object **place = find(start);
    if (*place)
        return CARRY_OK;
    struct carry_object *object = make_object(start, count);
    if (!object)
        return CARRY_ERROR_MEMORY;
    __atomic_store_n(place, object, __ATOMIC_SEQ_CST);
    return carry_patch_applied ? carry_commit_object(object) : CARRY_OK;
}

/* Frees an object once nobody can be reading it who found it before it left the list. */
static void forget(struct carry_object **place) {
    struct carry_object *object = *place;
    __atomic_store_n(place, object->next, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&readers, __ATOMIC_SEQ_CST))
        carry_host_text()->yield();
    const struct carry_site *last = object->by_address[object->count - 1];
    carry_host_text()->forget(carry_site_address(object->by_address[0]),
                              carry_site_address(last) + last->length);
    carry_host_text()->release(object, object_bytes(object->count));
}

int carry_patch_register(const struct carry_site *start, const struct carry_site *stop) {
    int error = CARRY_OK;
    if (start != stop && carry_host_text()->meet)
        carry_host_text()->meet(carry_site_address(start));
    carry_host_text()->lock();
    if (start == stop)
        unrecorded++;
    else
        error = add_object(start, (size_t)(stop - start));
    carry_host_text()->unlock();
    return error;
}

void carry_patch_unregister(const struct carry_site *start) {
    carry_host_text()->lock();
    struct carry_object **place = find(start);
    if (*place)
        forget(place);
    else if (!start && unrecorded)
        unrecorded--;
    if (!carry_objects)
        carry_commit_release();
    carry_host_text()->unlock();
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

/* --- What a site should be --- */

static bool is_body(const struct carry_site *record) {
    return record->kind == CARRY_SITE_BODY && record->version == CARRY_SITE_VERSION &&
           (!(record->flags & CARRY_SITE_SEVERAL) || carry_host_text()->stop);
}

const struct carry_site *carry_body_of(uintptr_t function) {
    for (const struct carry_object *object = carry_objects; object; object = object->next) {
        struct carry_sites sites = carry_object_sites(object, function);
        for (size_t i = 0; i < sites.count; i++)
            if (is_body(sites.first[i]))
                return sites.first[i];
    }
    return NULL;
}

uintptr_t carry_site_value(const struct carry_site *site) {
    if (site->kind == CARRY_SITE_ALTERNATIVE && site->flags & CARRY_SITE_BY_FEATURE)
        return carry_cpu_has((const char *)carry_site_key(site));
    return ((const struct carry_key *)carry_site_key(site))->value;
}

/* --- How sites stand --- */

bool carry_site_is_several(const struct carry_site *site) {
    uint8_t original[CARRY_SITE_BYTES_MAX];
    if (site->flags & CARRY_SITE_SINGLE)
        return false;
    if (site->kind != CARRY_SITE_ENTRY)
        return site->kind == CARRY_SITE_ALTERNATIVE;
    carry_encode_original(site, original);
    return carry_site_holds(site, original); /* what it was patched to is one instruction */
}

static enum carry_patch_reason why_unpatched(const struct carry_site *site) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    if (!carry_encode(site, carry_site_value(site), NULL, bytes))
        return CARRY_PATCH_RANGE;
    if (carry_patch_refusal)
        return carry_patch_refusal;
    return carry_site_is_several(site) && carry_patch_applied ? CARRY_PATCH_QUIESCENCE
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
    if (!carry_encode_knows(site)) {
        stats->unpatched[CARRY_PATCH_UNKNOWN_KIND]++;
        return;
    }
    carry_encode_original(site, bytes);
    if (carry_site_holds(site, bytes) && !wants_original(site))
        stats->unpatched[why_unpatched(site)]++;
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

void carry_count_sites(struct carry_patch_counts *stats) {
    stats->unrecorded = unrecorded;
    for (const struct carry_object *object = carry_objects; object; object = object->next) {
        stats->objects++;
        for (size_t i = 0; i < object->count; i++)
            if (object->by_key[i]->kind != CARRY_SITE_BODY)
                count_site(object->by_key[i], stats);
    }
}
