/* SPDX-License-Identifier: MIT */
/* Internals of `hook`: points, plans, and the functions of each file. */
#ifndef CARRY_HOOK_HOOK_H
#define CARRY_HOOK_HOOK_H

#include <carry/hook.h>
#include <carry/patch.h>
#include <carry/thunk.h>

#include "base/hook_host.h"
#include "base/text_host.h"
#include "hook/stub.h"

/*
 * A place that can have a hook, with its stub. A point is never freed, because a thread may be in
 * the stub, or in a call that began there, long after the hook was detached. It keeps its place; an
 * entry's point can get another place once the object with the entry is unloaded.
 */
struct carry_hook_point {
    struct carry_thunk thunk; /* the descriptor that the stub passes to `through` */
    const char *through;      /* the thunk that the stub jumps to */
    uint32_t generation;      /* incremented when callbacks change; odd while they are enabled */
    bool constant;            /* the slot is in read-only memory */
    bool whole;               /* an argument of carry_stub_thunk() */
    uint32_t running;         /* the number of running callbacks that a hook waits for */
    bool counted;             /* whether the present hook waits for its callbacks */
    bool planned;             /* whether it is being attached or detached */
    bool around; /* had a hook with `leave`: threads may be in the thunk that copies arguments */
    uint32_t stack_words; /* carry_hook.stack_words: the thunk copies two words more */
    carry_hook_callback *enter;
    carry_hook_callback *leave;
    void *user;
    struct carry_hook_place place;
    uintptr_t seen;                /* the value of the slot when it was read */
    struct carry_hook_point *next; /* of the same hook */
    struct carry_hook_point *same_bucket;
    const struct carry_hook *hook; /* only compared, never dereferenced */
    uintptr_t stub;
    const struct carry_site *site; /* the site of an entry */
    struct carry_key key;          /* the key of the site: 1 if the entry is a jump to the stub */
};

/*
 * --- Points: src/hook/points.c. Functions require the lock of `patch` unless stated otherwise. ---
 */

#define CARRY_BLOCK_POINTS 256

#define CARRY_STACK_WORDS_MAX 4096 /* the limit of carry_thunk.stack_words */

/* The points of a block of stubs, within reach of the stubs, and the records of their sites. */
struct carry_hook_block {
    struct carry_hook_block *next;
    struct carry_hook_block *made_before; /* in the list of all blocks */
    size_t used;                          /* how many points are used, from the first on */
    struct carry_site records[CARRY_BLOCK_POINTS];
    struct carry_hook_point points[CARRY_BLOCK_POINTS];
};

/* Makes a block, within reach of a jump from `near` unless that is 0. Returns NULL on failure. */
struct carry_hook_block *carry_block_make(uintptr_t near);

/* Returns the existing or a new point for calls of `target` through `slot`, or NULL on failure. */
struct carry_hook_point *carry_point_make(uintptr_t slot, uintptr_t target);

/* Returns the point whose hook is attached to a slot, or NULL. */
struct carry_hook_point *carry_point_at(uintptr_t slot);

/* Sets the callbacks of a point. Thunks call them after carry_point_start(), until
 * carry_point_stop(). */
void carry_point_set(struct carry_hook_point *point, const struct carry_hook *hook);
void carry_point_start(struct carry_hook_point *point);
void carry_point_stop(struct carry_hook_point *point);

/* Waits until no counted callback of a point runs. Call without the lock: callbacks may take it. */
void carry_point_wait(const struct carry_hook_point *point);

/* Checks whether a hook is attached to a point. */
static inline bool carry_point_is_on(const struct carry_hook_point *point) {
    return point->generation % 2;
}

/* --- Attaching: src/hook/plan.c --- */

/* Points to be attached: all of them or none. */
struct carry_hook_plan {
    struct carry_hook_point *first;
    struct carry_hook_point **end;
    size_t count;
    size_t present; /* how many places match and have this hook already */
    size_t skipped; /* see carry_hook.skipped */
};

/* Starts an empty plan. */
void carry_plan_start(struct carry_hook_plan *plan);

/* Adds a point that has no attached hook, and sets its callbacks to the callbacks of `hook`. */
void carry_plan_add(struct carry_hook_plan *plan, struct carry_hook_point *point,
                    const struct carry_hook *hook);

/*
 * Ends a plan. If `error` is 0, all points are in place: enables their callbacks and adds them to
 * `hook`. Returns the same errors as carry_hook_attach_calls().
 */
int carry_plan_finish(struct carry_hook_plan *plan, struct carry_hook *hook, int error);

/* Checks whether a hook is valid and can be attached. Returns 0 or an error. */
int carry_hook_check(const struct carry_hook *hook);

/* Checks whether two strings are equal. */
bool carry_is_same(const char *a, const char *b);

/* Checks whether a place matches a hook. */
bool carry_hook_matches(const struct carry_hook *hook, const struct carry_hook_place *place);

/* --- Calls: src/hook/calls.c --- */

/*
 * Restores the functions in the slots of points that are calls. Returns 0, CARRY_ERROR_PERMISSION,
 * or CARRY_ERROR_BYTES if a slot holds a foreign function.
 */
int carry_slots_restore(const struct carry_hook_point *points);

/* Does the part of carry_hook_places() for calls. Sets *wants_more to the last result of `tell`.
 * Returns 0 or CARRY_ERROR_MEMORY. */
int carry_call_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                      bool *wants_more);

/* --- Entries: src/hook/entries.c. All functions require the lock. --- */

/* Changes points that are entries back to NOPs. Returns 0 or an error of carry_patch_commit(). */
int carry_entries_restore(const struct carry_hook_point *points);

/* Does the part of carry_hook_places() for entries. Sets *wants_more like carry_call_places(). */
void carry_entry_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                        bool *wants_more);

#endif
