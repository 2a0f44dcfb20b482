/* SPDX-License-Identifier: MIT */
/* Inside of `patch`: the objects that have sites, the encoder of an architecture, and the host. */
#ifndef CARRY_PATCH_PATCH_H
#define CARRY_PATCH_PATCH_H

#include <carry/patch.h>

#include "base/text_host.h"

/* An alternative may be this long; all other sites are one instruction. */
#define CARRY_SITE_BYTES_MAX 64

/* What an int32_t of a record points to, counted from its own place. */
static inline uintptr_t carry_site_target(const int32_t *offset) {
    return (uintptr_t)offset + (uintptr_t)(intptr_t)*offset;
}

static inline uintptr_t carry_site_address(const struct carry_site *site) {
    return carry_site_target(&site->site);
}

static inline uintptr_t carry_site_key(const struct carry_site *site) {
    return carry_site_target(&site->key);
}

static inline bool carry_same_4(const uint8_t *a, const uint8_t *b) {
    uint32_t of_a, of_b;
    __builtin_memcpy(&of_a, a, sizeof of_a);
    __builtin_memcpy(&of_b, b, sizeof of_b);
    return of_a == of_b;
}

/*
 * Does its text hold these bytes? Calls, jumps, branches and entries have five or six bytes: two
 * comparisons, which overlap.
 */
static inline bool carry_site_holds(const struct carry_site *site, const uint8_t *bytes) {
    const uint8_t *text = (const uint8_t *)carry_site_address(site);
    size_t i = 0;
    if (site->length >= 4 && site->length <= 8)
        return carry_same_4(text, bytes) &&
               carry_same_4(text + site->length - 4, bytes + site->length - 4);
    while (i < site->length && text[i] == bytes[i])
        i++;
    return i == site->length;
}

/* --- Objects: src/patch/objects.c, and src/patch/parts.c --- */

/*
 * Is a site several instructions, as it stands? A thread may be between two of them, so it changes
 * only while nobody runs it.
 */
bool carry_site_is_several(const struct carry_site *site);

struct carry_object {
    struct carry_object *next;
    const struct carry_site *start;
    size_t records;
    size_t count; /* of those records that are not damaged: the others are in no list */
    const struct carry_site **by_address;
    const struct carry_site *by_key[]; /* then by address */
};

/* All objects. Changes only while the host's lock is held. */
extern struct carry_object *carry_objects;

/* Is the object in the list whose records start there? */
bool carry_object_knows(const struct carry_site *start);

/* The loaded parts of the object that has these records; none if the host does not know. */
struct carry_parts {
    size_t count;
    struct carry_text_part part[32];
};
struct carry_parts carry_parts_of(const struct carry_site *records);

/* Does what the record points to lie in these parts, so that it may be read? */
bool carry_parts_hold(const struct carry_parts *parts, const struct carry_site *record);

/* Adds an object that is not in the list; NULL without memory. */
const struct carry_object *carry_object_add(const struct carry_site *start, size_t count,
                                            const struct carry_parts *parts);

/* Removes one, and frees it once nobody can be reading it who found it before. */
void carry_object_remove(const struct carry_site *start);

/* The records of an object that name `key`, in a row. */
struct carry_sites {
    const struct carry_site *const *first;
    size_t count;
};
struct carry_sites carry_object_sites(const struct carry_object *object, uintptr_t key);

/* The registered body of a function that may stand in for its calls, or NULL. */
const struct carry_site *carry_body_of(uintptr_t function);

/* The value that a site is to be patched to. */
uintptr_t carry_site_value(const struct carry_site *site);

/* Sorts elements of at most 64 bytes; an array that is in order costs one pass. */
void carry_sort(void *array, size_t count, size_t size, bool (*before)(const void *, const void *));

/* --- Commits: src/patch/commit.c; all with the lock held --- */

/* Patches all sites of an object. Returns as carry_patch_apply(). */
int carry_commit_object(const struct carry_object *object);

/* Patches the sites of all objects to the values of their keys; `quiet` as CARRY_PATCH_QUIET. */
int carry_commit_objects(bool quiet);

/* Patches the sites of an import to the value of its original; its own is still the one before. */
int carry_commit_import(const struct carry_key *import);

/*
 * A transaction of the library's own, with keys that are in no other one: carry_changes_start(),
 * carry_patch_set(), carry_commit_changes(), which ends it and returns as carry_patch_commit().
 */
void carry_changes_start(struct carry_patch *patch);
int carry_commit_changes(struct carry_patch *patch);

/* Keeps no memory any more: with the last object the library may be unloaded. */
void carry_commit_release(void);

/* How many commits there were, what they wrote, and the guard of the last. */
void carry_commit_account(struct carry_patch_counts *stats);

/* Why no text could be written at the last attempt; CARRY_PATCH_NOT_ASKED if it could. */
extern enum carry_patch_reason carry_patch_refusal;

/* --- Registration: src/patch/register.c --- */

/* Whether sites of objects are patched as they are loaded. */
extern bool carry_patch_applied;

/* Operations and keys of objects without a record. */
extern size_t carry_unrecorded;

/*
 * --- The encoder: src/patch/<arch>/encode.c ---
 *
 * Where it writes the bytes of a site there is room for CARRY_SITE_BYTES_MAX.
 */

/* Is this a kind of site that the encoder knows, with a length that it may have? */
bool carry_encode_knows(const struct carry_site *site);

/*
 * How many bytes are read where `aux` points to. Some of them tell how many more there are: without
 * `seen`, only those are counted.
 */
size_t carry_encode_aux_bytes(const struct carry_site *record, bool seen);

/* Writes the bytes of a site before anything was patched. */
void carry_encode_original(const struct carry_site *site, uint8_t *bytes);

/*
 * Writes the bytes of a site patched to `value`: a function (`body` is its registered instruction,
 * or NULL), or 0 and 1. Returns false if that does not fit; the site then keeps its original.
 */
bool carry_encode(const struct carry_site *site, uintptr_t value, const struct carry_site *body,
                  uint8_t *bytes);

/* Does this state of a call run the function's body in place? */
bool carry_encode_is_inline(const struct carry_site *site, const uint8_t *bytes);

/*
 * May a thread run the place meanwhile where one state is stored over the other, all bytes at once,
 * and run one of the two?
 */
bool carry_encode_swaps(const uint8_t *from, const uint8_t *to, size_t length);

/*
 * How a site is held while its other bytes change. A trap is one byte, which changes at once
 * wherever it stands; whoever runs into it is held by a handler. A jump to itself holds threads
 * without a handler, but is two bytes, which must change together. Nothing holds a site whose page
 * is exchanged, with all that changes in it. Where it is not, an architecture may lack a guard.
 */
enum carry_guard {
    CARRY_GUARD_NONE,
    CARRY_GUARD_REMAP,
    CARRY_GUARD_JUMP,
    CARRY_GUARD_TRAP,
    CARRY_GUARD_LACKS,
};

/* The guard for a site, given whether the host writes two bytes by one store. */
enum carry_guard carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs);

/* The bytes of a jump or trap, at most two. Returns how many. */
size_t carry_encode_guard_bytes(enum carry_guard guard, uint8_t *bytes);

#endif
