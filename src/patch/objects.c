/* SPDX-License-Identifier: MIT */
/* The list of objects that have sites, and the value that each site must have. */
#include "cpu/cpu_internal.h"
#include "patch/patch_internal.h"

struct carry_object *carry_objects;

/*
 * The number of threads that search the list without the lock: carry_object_remove() waits for
 * them.
 */
static unsigned readers;

/* --- Order --- */

static bool key_comes_before(const void *a, const void *b) {
    const struct carry_site *site_a = *(const struct carry_site *const *)a;
    const struct carry_site *site_b = *(const struct carry_site *const *)b;
    uintptr_t key_a = carry_site_key(site_a);
    uintptr_t key_b = carry_site_key(site_b);
    return key_a != key_b ? key_a < key_b : carry_site_address(site_a) < carry_site_address(site_b);
}

/* Checks whether `a` comes before `b`, by address. A site comes before a body at the same
 * address. */
static bool address_comes_before(const void *a, const void *b) {
    const struct carry_site *site_a = *(const struct carry_site *const *)a;
    const struct carry_site *site_b = *(const struct carry_site *const *)b;
    uintptr_t address_a = carry_site_address(site_a);
    uintptr_t address_b = carry_site_address(site_b);
    if (address_a != address_b)
        return address_a < address_b;
    return site_a->kind != CARRY_SITE_BODY && site_b->kind == CARRY_SITE_BODY;
}

/* Returns how many records have keys before `key`. */
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

/* Returns how many records have sites or bodies before `address`. */
static size_t count_before_address(const struct carry_object *object, uintptr_t address) {
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
    size_t i = count_before_address(object, address);
    return i < object->count && carry_site_address(object->by_address[i]) == address &&
           object->by_address[i]->kind != CARRY_SITE_BODY;
}

static bool has_site_around(const struct carry_object *object, uintptr_t address) {
    size_t i = count_before_address(object, address);
    while (i && object->by_address[i - 1]->kind == CARRY_SITE_BODY)
        i--;
    return i && address - carry_site_address(object->by_address[i - 1]) <
                    object->by_address[i - 1]->length;
}

static bool find_in_any(find_fn *find_in, uintptr_t address) {
    bool found = false;
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
    for (struct carry_object *object = __atomic_load_n(&carry_objects, __ATOMIC_SEQ_CST);
         object && !found; object = __atomic_load_n(&object->next, __ATOMIC_SEQ_CST))
        found = find_in(object, address);
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
    return found;
}

bool carry_patch_is_site(uintptr_t address) {
    return find_in_any(has_site, address);
}

bool carry_patch_is_inside(uintptr_t address) {
    return find_in_any(has_site_around, address);
}

void carry_patch_forked(void) {
    __atomic_store_n(&readers, 0, __ATOMIC_SEQ_CST);
}

/* --- The list --- */

static struct carry_object **find_object(const struct carry_site *start) {
    struct carry_object **place = &carry_objects;
    while (*place && (*place)->start != start)
        place = &(*place)->next;
    return place;
}

static size_t object_bytes(size_t count) {
    return sizeof(struct carry_object) + 2 * count * sizeof(const struct carry_site *);
}

static struct carry_object *make_sites_object(const struct carry_site *start, size_t records,
                                              const struct carry_parts *parts) {
    struct carry_object *object = carry_host_text()->allocate(object_bytes(records));
    if (!object)
        return NULL;
    object->next = NULL;
    object->start = start;
    object->records = records;
    object->count = 0;
    object->by_address = object->by_key + records;
    for (size_t i = 0; i < records; i++)
        if (carry_parts_hold(parts, &start[i])) {
            object->by_key[object->count] = &start[i];
            object->by_address[object->count++] = &start[i];
        }
    carry_sort(object->by_key, object->count, sizeof *object->by_key, key_comes_before);
    carry_sort(object->by_address, object->count, sizeof *object->by_address, address_comes_before);
    return object;
}

bool carry_object_is_registered(const struct carry_site *start) {
    return *find_object(start);
}

const struct carry_object *carry_object_add(const struct carry_site *start, size_t count,
                                            const struct carry_parts *parts) {
    struct carry_object *object = make_sites_object(start, count, parts);
    if (object)
        __atomic_store_n(find_object(start), object, __ATOMIC_SEQ_CST);
    return object;
}

void carry_object_remove(const struct carry_site *start) {
    struct carry_object **place = find_object(start), *object = *place;
    __atomic_store_n(place, object->next, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&readers, __ATOMIC_SEQ_CST))
        carry_host_text()->yield();
    if (object->count) {
        const struct carry_site *last = object->by_address[object->count - 1];
        carry_host_text()->forget(carry_site_address(object->by_address[0]),
                                  carry_site_address(last) + last->length);
    }
    carry_host_text()->release(object, object_bytes(object->records));
}

/* --- The value of a site --- */

static bool is_usable_body(const struct carry_site *record) {
    return record->kind == CARRY_SITE_BODY && record->version == CARRY_SITE_VERSION &&
           (!(record->flags & CARRY_SITE_SEVERAL) || carry_host_text()->stop);
}

const struct carry_site *carry_body_of(uintptr_t function) {
    for (const struct carry_object *object = carry_objects; object; object = object->next) {
        struct carry_sites sites = carry_object_sites(object, function);
        for (size_t i = 0; i < sites.count; i++)
            if (is_usable_body(sites.first[i]))
                return sites.first[i];
    }
    return NULL;
}

uintptr_t carry_site_value(const struct carry_site *site) {
    if (site->kind == CARRY_SITE_ALTERNATIVE && site->flags & CARRY_SITE_BY_FEATURE)
        return carry_cpu_has((const char *)carry_site_key(site));
    return ((const struct carry_key *)carry_site_key(site))->value;
}

/* --- The state of a site --- */

bool carry_site_is_multi_insn(const struct carry_site *site) {
    uint8_t original[CARRY_SITE_BYTES_MAX];
    if (site->flags & CARRY_SITE_SINGLE)
        return false;
    if (site->kind != CARRY_SITE_ENTRY)
        return site->kind == CARRY_SITE_ALTERNATIVE;
    carry_encode_original(site, original);
    return carry_site_holds(site, original); /* once patched, the site is one instruction */
}
