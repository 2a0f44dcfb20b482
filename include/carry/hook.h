/* SPDX-License-Identifier: MIT */
/*
 * Callbacks at calls between objects and at entries of functions, in the running program.
 *
 *     static void count(const struct carry_hook_place *place, struct carry_thunk_call *call,
 *                       void *user) {
 *         ++*(size_t *)user;
 *     }
 *
 *     struct carry_hook hook = {.symbol = "malloc", .enter = count, .user = &calls};
 *     int error = carry_hook_attach_calls(&hook);     // hook.attached says how many
 *     ...
 *     carry_hook_detach(&hook);
 *
 * A *place* is a point that can be hooked:
 *  - a call: the slot in an object's global offset table through which the object calls an imported
 *    function, with a PLT or without (-fno-plt). Calls within an object have no slot.
 *  - an entry: the NOPs at the start of a function compiled with -fpatchable-function-entry=5
 *    (AArch64: =1 or more), in an object that contains CARRY_HOOK_ENTRIES; they become a jump. An
 *    entry that is not hooked costs one NOP. GCC also needs -fno-ipa-ra: without it, callers in the
 *    same file may keep values in registers that the function does not change.
 *
 * Contract:
 *  - The function gets its arguments, and the caller its result, as without a hook, in all
 *    registers (see <carry/thunk.h>). With `leave` the function finds copies of its arguments on
 *    the stack: 34 words (enough for 40 integers), or as many as `stack_words` sets. A function
 *    with more arguments reads garbage. With only `enter` there is no limit.
 *  - Attaching takes effect as a whole or not at all. Threads may run meanwhile: each of their
 *    calls passes through the hook or does not.
 *  - Callbacks run in the calling thread, in the context of the call, signal handlers included.
 *    A callback must return normally: no longjmp, no exception, no end of the thread. All of these
 *    may pass through hooked calls.
 *  - Calls that a callback makes do not pass through hooks: a callback may use hooked functions.
 *    The same holds for signal handlers that interrupt a callback, and for calls that the library
 *    makes while it attaches, commits (<carry/patch.h>) or handles a signal.
 *  - After carry_hook_detach() has returned, no callback of the hook begins. A callback that began
 *    earlier may still run in another thread. Stubs are never unmapped, so calls under
 *    way are safe.
 *  - An object stays loaded while calls from it are hooked.
 *  - AArch64: calls of symbols with a variant procedure call standard, and all entries, keep
 *    scalable vectors and predicates too. In streaming mode, and while ZA is live and no caller
 *    has promised to save it (SME), calls do not pass through hooks.
 *  - From a slot outside the PLT the object also reads the function's address. While the slot is
 *    hooked, this address differs from that in the function's own object and in static data.
 *    OpenSSL compares such addresses, and then calls itself for ever: a hook of all calls should
 *    select only places with `by_plt`.
 *  - A place has one hook at a time. Attach and detach from ordinary code, never from a signal
 *    handler or a callback. One exception: a callback at calls of dlsym() may attach hooks to
 *    calls, to reach newly loaded objects, wherever calling the dynamic linker is safe. Functions
 *    that choose places (`wants`, `tell`) must not attach, commit, or load or unload objects.
 *
 * Linux on x86-64 and AArch64 (little-endian) only; elsewhere all functions return
 * CARRY_ERROR_UNSUPPORTED.
 *
 * Source: System V ABI, AMD64 supplement, 5.2 "Dynamic Linking"; ELF for the Arm 64-bit
 * Architecture; the manuals of GCC and Clang on -fpatchable-function-entry.
 */
#ifndef CARRY_HOOK_H
#define CARRY_HOOK_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

struct carry_thunk_call; /* <carry/thunk.h>: the arguments, the result */

enum carry_hook_kind {
    CARRY_HOOK_CALL,
    CARRY_HOOK_ENTRY,
};

/* Strings belong to the object: they are valid while it is loaded. */
struct carry_hook_place {
    enum carry_hook_kind kind;
    const char *object;  /* its path, as the dynamic linker reports it; "" for the executable */
    const char *symbol;  /* the imported function; "" for entries */
    const char *version; /* the symbol version that the object asks for; "" if none */
    uintptr_t function;  /* call: its target, 0 if not known yet; entry: the function's start */
    uintptr_t address;   /* of the slot, or of the NOPs */
    bool by_plt;         /* a call through the PLT: nothing else reads the slot */
};

typedef void carry_hook_callback(const struct carry_hook_place *place,
                                 struct carry_thunk_call *call, void *user);

struct carry_hook {
    /* The places to hook: those that match all members that are set. */
    const char *object; /* its path, or the last part of it; "" for the executable */
    const char *symbol;
    bool (*wants)(const struct carry_hook_place *place, void *user);

    carry_hook_callback *enter; /* before the function, or NULL */
    carry_hook_callback *leave; /* after the function, unless it throws or jumps out; or NULL */
    void *user;
    size_t stack_words; /* with `leave`: how many words of arguments on the stack the function may
                         * be given, beyond two; at most 4096 (0: 32) */
    bool waits;         /* carry_hook_detach() returns once no callback runs */

    /* Written by the library; zero before the first use. */
    size_t attached; /* hooked places */
    size_t skipped;  /* places that match and cannot be hooked: see carry_hook_attach_calls() */
    struct carry_hook_point *points;
    struct carry_host_objects *objects; /* objects that stay loaded */
};

/*
 * Hooks the calls that match. May be repeated, to hook calls from newly loaded objects. Returns 0,
 * or a negative error if nothing changed:
 *  CARRY_ERROR_INVALID      neither `enter` nor `leave`, or `stack_words` above 4096
 *  CARRY_ERROR_UNKNOWN      no call matches
 *  CARRY_ERROR_BUSY         calls match, and all of them are skipped
 *  CARRY_ERROR_PERMISSION   the system refuses to map stubs, or to write to a table of slots
 *  CARRY_ERROR_MEMORY       no memory
 *  CARRY_ERROR_UNSUPPORTED  this architecture has no hooks
 *
 * Skips:
 *  - places that have another hook;
 *  - slots that are not bound yet, if their function is not found;
 *  - with `leave`, functions that return twice or look at their caller (setjmp, vfork, dlsym).
 *
 * Binds the slots that the dynamic linker would bind at the first call. A thread that is in the
 * dynamic linker at this moment, for the first call through such a slot, may undo its hook:
 * attaching again restores the hook.
 */
CARRY_API int carry_hook_attach_calls(struct carry_hook *hook);

/*
 * Hooks the entries that match, or the entry of one function. Returns what
 * carry_hook_attach_calls() returns, or:
 *  CARRY_ERROR_INVALID  also: the function is NULL
 *  CARRY_ERROR_UNKNOWN  also: the function has no NOPs at its start, or its object has no
 *                       CARRY_HOOK_ENTRIES
 *  CARRY_ERROR_BUSY     also, on x86-64: an entry still consists of the several NOPs that the
 *                       compiler emitted, and another thread may be between two of them. If the
 *                       program calls carry_patch_apply() at its start, while it has one thread,
 *                       each entry becomes one instruction.
 *  CARRY_ERROR_BYTES, CARRY_ERROR_NO_SYNC  as carry_patch_commit()
 */
CARRY_API int carry_hook_attach_entries(struct carry_hook *hook);
CARRY_API int carry_hook_attach_entry(struct carry_hook *hook, void (*function)(void));

/*
 * Removes the hook from all its places. No callback begins afterwards; `leave` is not called for
 * calls under way. The struct may be freed at once. Data and code of the callbacks may be freed
 * only when each thread that was in a callback has returned from it. With `waits`, all threads have
 * returned when this function returns. Each callback then costs two locked instructions more, and
 * must not wait for the thread that detaches.
 * Returns 0 or a negative error; after an error, too, callbacks are no longer called:
 *  CARRY_ERROR_BYTES       other code replaced the hook of a place, and its replacement was left
 *                          there
 *  CARRY_ERROR_PERMISSION, CARRY_ERROR_NO_SYNC, CARRY_ERROR_MEMORY
 *                          slots or entries could not be written: they still lead through stubs
 */
CARRY_API int carry_hook_detach(struct carry_hook *hook);

/*
 * Calls `tell` for each place, first calls, then entries, as long as `tell` returns true. The place
 * is valid until `tell` returns. Returns 0, CARRY_ERROR_UNSUPPORTED or CARRY_ERROR_MEMORY.
 */
CARRY_API int carry_hook_places(bool (*tell)(const struct carry_hook_place *place, void *user),
                                void *user);

/*
 * Registers the patchable entries of an object, or forgets them. `start` and `stop` are the ends of
 * its section __patchable_function_entries. CARRY_HOOK_ENTRIES calls these two functions when the
 * object is loaded and unloaded. They must be called while no thread can run functions with such
 * entries, and all hooks must be detached from the entries before the object is unloaded. Returns
 * 0, or CARRY_ERROR_MEMORY, CARRY_ERROR_PERMISSION or CARRY_ERROR_UNSUPPORTED, after which the
 * entries cannot be hooked.
 */
CARRY_API int carry_hook_register(const uintptr_t *start, const uintptr_t *stop);
CARRY_API void carry_hook_unregister(const uintptr_t *start);

/* The entries of the object that includes this header, set by the linker. */
extern const uintptr_t __start___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));
extern const uintptr_t __stop___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));

CARRY_END_DECLS

/* CARRY_HOOK_ENTRIES;   in one source file of an object, so that its functions can be hooked. */
#define CARRY_HOOK_ENTRIES                                                                         \
    static __attribute__((constructor(101))) void carry_hook_load(void) {                          \
        carry_hook_register(__start___patchable_function_entries,                                  \
                            __stop___patchable_function_entries);                                  \
    }                                                                                              \
    static __attribute__((destructor(101))) void carry_hook_unload(void) {                         \
        carry_hook_unregister(__start___patchable_function_entries);                               \
    }                                                                                              \
    CARRY_DECLARED

#endif
