/* SPDX-License-Identifier: MIT */
/* What the files of this module share. */
#ifndef CARRY_HOOK_HOOK_H
#define CARRY_HOOK_HOOK_H

#include <carry/hook.h>
#include <carry/patch.h>
#include <carry/thunk.h>

#include "base/hook_host.h"
#include "base/text_host.h"
#include "hook/stub.h"

/*
 * A place that has, or had, a hook, and its stub. Points are never freed, nor given to another
 * place: a thread may be in the stub, or in a call that began there, long after the hook is gone.
 */
struct carry_hook_point {
    struct carry_thunk thunk; /* what the stub hands to `through` */
    const char *through;      /* a thunk */
    uint32_t generation;      /* odd while callbacks are to be called; changes when they do */
    bool constant;            /* the slot is in read-only memory */
    bool whole;               /* as carry_stub_thunk() has it */
    uint32_t running;         /* callbacks, of hooks that wait for them */
    bool counted;             /* ... as the present one does */
    bool planned;             /* being attached or detached */
    bool around; /* had a hook with `leave`: threads may be in the thunk that copies arguments */
    uint32_t stack_words; /* of them, as the hook says */
    carry_hook_callback *enter;
    carry_hook_callback *leave;
    void *user;
    struct carry_hook_place place;
    uintptr_t seen;                /* what the slot held when it was read */
    struct carry_hook_point *next; /* of the same hook */
    struct carry_hook_point *same_bucket;
    const struct carry_hook *hook; /* compared, never read */
    uintptr_t stub;
    const struct carry_site *site; /* of an entry */
    struct carry_key key;          /* of it: is it a jump? */
};

/* --- Points: src/hook/points.c. All but the callbacks with the lock of `patch` held. --- */

#define CARRY_BLOCK_POINTS 256

#define CARRY_STACK_WORDS_MAX 4096 /* as struct carry_thunk has it */

/* Stubs, and in reach of them the points that they lead to, with the records of their sites. */
struct carry_hook_block {
    struct carry_hook_block *next;
    struct carry_hook_block *made_before; /* of all blocks, whoever has them */
    size_t used;                          /* points, from the first on */
    struct carry_site records[CARRY_BLOCK_POINTS];
    struct carry_hook_point points[CARRY_BLOCK_POINTS];
};

/* A block of its own, in reach of a jump from `near` if that is not 0; NULL if there is none. */
struct carry_hook_block *carry_block_make(uintptr_t near);

/* A point for calls through a slot to `target`: a former one of the same place, or new, or NULL. */
struct carry_hook_point *carry_point_make(uintptr_t slot, uintptr_t target);

/* The point whose hook is attached to a slot, or NULL. */
struct carry_hook_point *carry_point_at(uintptr_t slot);

/* Gives a point the callbacks of a hook, which are called from carry_point_start() on. */
void carry_point_set(struct carry_hook_point *point, const struct carry_hook *hook);
void carry_point_start(struct carry_hook_point *point);
void carry_point_stop(struct carry_hook_point *point);

/* Until none of its callbacks runs that are counted. Without the lock, which they may take. */
void carry_point_wait(const struct carry_hook_point *point);

static inline bool carry_point_is_on(const struct carry_hook_point *point) {
    return point->generation % 2;
}

/* --- Attaching: src/hook/plan.c --- */

/* What will be attached, in the order of addresses, if all of it can be. */
struct carry_hook_plan {
    struct carry_hook_point *first;
    struct carry_hook_point **end;
    size_t count;
    size_t present; /* places that match and have this hook already */
    size_t skipped;
};

void carry_plan_start(struct carry_hook_plan *plan);

/* Adds a point that is not on, with the callbacks of a hook. */
void carry_plan_add(struct carry_hook_plan *plan, struct carry_hook_point *point,
                    const struct carry_hook *hook);

/* What is planned is in place: callbacks begin; or `error`: it is not. Returns as attaching. */
int carry_plan_finish(struct carry_hook_plan *plan, struct carry_hook *hook, int error);

/* Is it supported, and has the hook a callback? */
int carry_hook_check(const struct carry_hook *hook);

bool carry_is_same(const char *a, const char *b);

/* Does a place match what a hook asks for? */
bool carry_hook_matches(const struct carry_hook *hook, const struct carry_hook_place *place);

/* --- Calls: src/hook/calls.c --- */

/*
 * Puts functions back into the slots of those points that are calls. Returns 0,
 * CARRY_ERROR_PERMISSION, or CARRY_ERROR_BYTES where somebody else's is in a slot.
 */
int carry_slots_restore(const struct carry_hook_point *points);

/* As carry_hook_places(), of calls; `*goes_on` says whether `tell` wants more. */
int carry_call_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                      bool *goes_on);

/* --- Entries: src/hook/entries.c, with the lock held --- */

/* Makes NOPs of those points that are entries. Returns 0 or an error of carry_patch_commit(). */
int carry_entries_restore(const struct carry_hook_point *points);

void carry_entry_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                        bool *goes_on);

#endif
