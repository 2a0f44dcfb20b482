/* SPDX-License-Identifier: MIT */
/* Internals of `patch`: objects with sites, commits, and the encoder of each architecture. */
#ifndef CARRY_PATCH_PATCH_H
#define CARRY_PATCH_PATCH_H

#include <carry/patch.h>

#include "base/text_host.h"

/* The size of the longest alternative. All other sites have at most six bytes. */
#define CARRY_SITE_BYTES_MAX 64

/* Returns the address that a member of a record refers to: relative to the member itself. */
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
 * Checks whether the text of a site holds `bytes`. Calls, jumps, branches and entries have four to
 * six bytes: two comparisons of four bytes, which may overlap, cover them.
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
 * Checks whether a site consists of several instructions in its present state. A thread may have
 * been interrupted between two of them, so such a site may change only while no thread runs it.
 */
bool carry_site_is_multi_insn(const struct carry_site *site);

struct carry_object {
    struct carry_object *next;
    const struct carry_site *start;
    size_t records;
    size_t count; /* of undamaged records; the lists contain no others */
    const struct carry_site **by_address;
    const struct carry_site *by_key[]; /* followed by the elements of by_address */
};

/* The list of all objects. Changes only while the host's lock is held. */
extern struct carry_object *carry_objects;

/* Checks whether an object whose records begin at `start` is in the list. */
bool carry_object_is_registered(const struct carry_site *start);

/* The loaded parts of an object. `count` is 0 if they are unknown. */
struct carry_parts {
    size_t count;
    struct carry_text_part part[32];
};

/* Returns the loaded parts of the object that contains `records`. */
struct carry_parts carry_parts_of(const struct carry_site *records);

/* Checks whether everything that a record refers to lies in `parts`, and so can be read. Returns
 * true for any record if `parts` are unknown, and for records of other versions. */
bool carry_parts_hold(const struct carry_parts *parts, const struct carry_site *record);

/* Adds an object that is not in the list. Returns it, or NULL if there is no memory. */
const struct carry_object *carry_object_add(const struct carry_site *start, size_t count,
                                            const struct carry_parts *parts);

/* Removes an object, and frees it once no reader of the list can still be using it. */
void carry_object_remove(const struct carry_site *start);

/* Consecutive records of an object that name the same key. */
struct carry_sites {
    const struct carry_site *const *first;
    size_t count;
};

/* Returns the records of an object that name `key`. */
struct carry_sites carry_object_sites(const struct carry_object *object, uintptr_t key);

/* Returns the registered body of `function`, which may replace calls of it, or NULL. */
const struct carry_site *carry_body_of(uintptr_t function);

/* Returns the value that a site must be patched to. */
uintptr_t carry_site_value(const struct carry_site *site);

/* Sorts elements of at most 64 bytes. An array that is already in order costs one pass. */
void carry_sort(void *array, size_t count, size_t size, bool (*before)(const void *, const void *));

/* --- Commits: src/patch/commit.c. All functions require the lock. --- */

/* Patches all sites of an object. Returns the same errors as carry_patch_apply(). */
int carry_commit_object(const struct carry_object *object);

/*
 * Patches the sites of all objects to the values of their keys. `quiet` stands for
 * CARRY_PATCH_QUIET. Returns the same errors as carry_patch_apply().
 */
int carry_commit_objects(bool quiet);

/* Patches the sites of `import` to the value of its original. Returns 0 or an error. The caller
 * then sets the value of `import`. */
int carry_commit_import(const struct carry_key *import);

/*
 * Start and end a transaction of the library itself, with keys that no other transaction contains:
 * carry_changes_start(), then carry_patch_set() for each key, then carry_commit_changes(), which
 * ends the transaction and returns the same errors as carry_patch_commit().
 */
void carry_changes_start(struct carry_patch *patch);
int carry_commit_changes(struct carry_patch *patch);

/* Frees the memory of the plan: once the last object is gone, the library may be unloaded. */
void carry_commit_release(void);

/* Fills in how many commits there were, how many sites they wrote, and the guard of the last
 * commit. */
void carry_commit_account(struct carry_patch_counts *stats);

/* CARRY_PATCH_PERMISSION or CARRY_PATCH_NO_SYNC if the last attempt to write text failed for this
 * reason, otherwise CARRY_PATCH_NOT_ASKED. */
extern enum carry_patch_reason carry_patch_refusal;

/* --- Registration: src/patch/register.c --- */

/* Whether the sites of an object are patched when it is registered. */
extern bool carry_patch_applied;

/* The number of operations and keys in objects without records. */
extern size_t carry_unrecorded;

/*
 * --- The encoder: src/patch/<arch>/encode.c ---
 *
 * Every buffer for the bytes of a site has CARRY_SITE_BYTES_MAX bytes.
 */

/* Checks whether the encoder supports this kind of site, and whether its length is valid. */
bool carry_encode_supports(const struct carry_site *site);

/*
 * Returns how many bytes the encoder reads at the address in `aux`. In some kinds of records, the
 * first of these bytes determine how many more follow. Without `seen`, does not read the first
 * bytes, and counts no bytes after them.
 */
size_t carry_encode_aux_bytes(const struct carry_site *record, bool seen);

/* Writes the bytes that a site has before it is patched for the first time. */
void carry_encode_original(const struct carry_site *site, uint8_t *bytes);

/*
 * Writes the bytes of a site patched to `value`: a function (`body` is its registered body, or
 * NULL), or 0 or 1. Returns false if the site cannot hold these bytes: it then keeps its original
 * bytes.
 */
bool carry_encode(const struct carry_site *site, uintptr_t value, const struct carry_site *body,
                  uint8_t *bytes);

/* Checks whether a call in the state `bytes` runs the function's body in place. */
bool carry_encode_is_inline(const struct carry_site *site, const uint8_t *bytes);

/*
 * Checks whether threads may run a site while one store replaces its state `from` by `to`: each
 * thread then runs one of the two states.
 */
bool carry_encode_swaps(const uint8_t *from, const uint8_t *to, size_t length);

/*
 * The guard that holds threads at a site while its other bytes change. A trap is one byte, which
 * can be stored at any address; a signal handler holds the threads that run into it. A jump to
 * itself needs no handler, but has two bytes, which must be stored together. A site needs no guard
 * if its page is exchanged. MISSING means that the site needs a guard, and the architecture has
 * none.
 */
enum carry_guard {
    CARRY_GUARD_NONE,
    CARRY_GUARD_REMAP,
    CARRY_GUARD_JUMP,
    CARRY_GUARD_TRAP,
    CARRY_GUARD_MISSING,
};

/* Returns the guard for a site. `writes_pairs` means that the host writes two bytes with one
 * store. */
enum carry_guard carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs);

/* Writes the bytes of a guard, at most two. Returns how many it wrote. */
size_t carry_encode_guard_bytes(enum carry_guard guard, uint8_t *bytes);

#endif
