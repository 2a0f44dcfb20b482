/* SPDX-License-Identifier: MIT */
/*
 * Callbacks at calls between objects and at entries of functions, while the program runs.
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
 * A *place* is what can be hooked:
 *  - a call: the slot in an object's global offset table through which it calls an imported
 *    function, by its PLT or without (-fno-plt). Calls that stay within an object have none.
 *  - an entry: the NOPs at the start of a function compiled with -fpatchable-function-entry=5, in
 *    an object that says CARRY_HOOK_ENTRIES; they become a jump. While no hook is attached the
 *    function costs a NOP more. GCC needs -fno-ipa-ra too, or callers in the same file may keep
 *    values in registers that they see the function leaves alone.
 *
 * Contract:
 *  - The function gets the arguments and the caller the result as without a hook, in all registers
 *    (see <carry/thunk.h>). With `leave` the function finds copies of its arguments on the stack:
 *    34 words of them, which is enough for 40 integers, or as many as `stack_words` says. A
 *    function that is given more reads garbage. With `enter` alone it may be given any number.
 *  - Attaching takes effect as a whole or not at all. Threads run meanwhile: each call comes by the
 *    hook or does not.
 *  - Callbacks run in the calling thread, in the context of the call, signal handlers included.
 *    They return normally: no longjmp, no exception, no end of the thread, though those may pass
 *    through hooked calls.
 *  - What a callback calls, and what the library calls while it attaches, commits (<carry/patch.h>)
 *    or handles a signal, does not come by hooks: a callback may use what is hooked. The same holds
 *    for signal handlers that interrupt it.
 *  - Once carry_hook_detach() returns, no callback of the hook begins. One that has begun may still
 *    run in another thread: see there. Stubs are never unmapped, so calls under way are safe.
 *  - An object stays loaded while calls of it are hooked.
 *  - A slot that is not of the PLT also tells the object what the function's address is: while it
 *    is hooked, that is another, and differs from what the function's own object and static data
 *    have. OpenSSL compares such addresses, and calls itself for ever: hooks of all calls should
 *    want places `by_plt` alone.
 *  - A place has one hook at a time. Attach and detach from ordinary code, not from signal
 *    handlers or callbacks; but a callback at calls of dlsym() may attach hooks to calls, to reach
 *    what has been loaded: where a program may call the dynamic linker, so may it. What chooses
 *    places (`wants`, `tell`) attaches and commits nothing, and loads or unloads no object.
 *
 * On x86-64 Linux; elsewhere everything answers CARRY_ERROR_UNSUPPORTED.
 *
 * Source: System V ABI, AMD64 supplement, 5.2 "Dynamic Linking"; the manuals of GCC and Clang on
 * -fpatchable-function-entry.
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

/* Strings are the object's own: they stay while it is loaded. */
struct carry_hook_place {
    enum carry_hook_kind kind;
    const char *object;  /* its path, as the dynamic linker has it; "" for the executable */
    const char *symbol;  /* the imported function; "" for entries */
    const char *version; /* that the object asks for; "" if none */
    uintptr_t function;  /* where calls go, 0 if that is not known yet; where the function starts */
    uintptr_t address;   /* of the slot, or of the NOPs */
    bool by_plt;         /* a call by the PLT: nothing else reads the slot */
};

typedef void carry_hook_callback(const struct carry_hook_place *place,
                                 struct carry_thunk_call *call, void *user);

struct carry_hook {
    /* Which places: those that match all that is set. */
    const char *object; /* its path, or the last part of it; "" for the executable */
    const char *symbol;
    bool (*wants)(const struct carry_hook_place *place, void *user);

    carry_hook_callback *enter; /* before the function, or NULL */
    carry_hook_callback *leave; /* after it, or NULL: unless it throws or jumps out */
    void *user;
    size_t stack_words; /* with `leave`: words of arguments on the stack that the function may be
                         * given, beyond two; at most 4096. 0: 32 */
    bool waits;         /* carry_hook_detach() returns once no callback runs: see there */

    /* Written by the library; zero before the first use. */
    size_t attached; /* places */
    size_t skipped;  /* that matched, and cannot be hooked: see carry_hook_attach_calls() */
    struct carry_hook_point *points;
    struct carry_host_objects *objects; /* that stay loaded */
};

/*
 * Hooks the calls that match. May be repeated for what has been loaded since. Returns 0, or
 * negative, and nothing has changed:
 *  CARRY_ERROR_INVALID      neither `enter` nor `leave`, or `stack_words` above 4096
 *  CARRY_ERROR_UNKNOWN      no call matches
 *  CARRY_ERROR_BUSY         some match, and all of them are skipped
 *  CARRY_ERROR_PERMISSION   the system refuses to map stubs, or to write to a table of slots
 *  CARRY_ERROR_MEMORY       no memory
 *  CARRY_ERROR_UNSUPPORTED  not on this architecture
 *
 * Skipped are: places that have a hook; slots that are not bound yet and whose function is not
 * found; with `leave`, functions that return twice or look at their caller (setjmp, vfork, dlsym).
 *
 * Slots that are bound at the first call are bound now. A thread that is in the dynamic linker at
 * this moment, for its first call of this function by this object, may undo the hook of that slot:
 * attaching once more puts it back.
 */
CARRY_API int carry_hook_attach_calls(struct carry_hook *hook);

/*
 * Hooks the entries that match, or that of one function. Returns as carry_hook_attach_calls(), and:
 *  CARRY_ERROR_INVALID  also: the function is NULL
 *  CARRY_ERROR_UNKNOWN  it is no function with five NOPs, or its object has no CARRY_HOOK_ENTRIES
 *  CARRY_ERROR_BUSY     also: the NOPs are still the compiler's, several instructions, and threads
 *                       run that may be among them. carry_patch_apply() at the program's start,
 *                       while it has one thread, makes them one instruction each.
 *  CARRY_ERROR_BYTES, CARRY_ERROR_NO_SYNC  as carry_patch_commit()
 */
CARRY_API int carry_hook_attach_entries(struct carry_hook *hook);
CARRY_API int carry_hook_attach_entry(struct carry_hook *hook, void (*function)(void));

/*
 * Takes all hooks off again. No callback begins afterwards; those of calls under way are not told
 * of their end. The struct may be freed at once; what callbacks use, only when each thread that was
 * in one has returned from it. With `waits` all have: a callback then takes two locked instructions
 * more, and must not wait for whoever detaches. Returns 0, or negative, and the callbacks are not
 * called either way:
 *  CARRY_ERROR_BYTES       somebody else's hook stands over one of these, and was left alone
 *  CARRY_ERROR_PERMISSION, CARRY_ERROR_NO_SYNC, CARRY_ERROR_MEMORY
 *                          slots or entries could not be written: they still lead through stubs
 */
CARRY_API int carry_hook_detach(struct carry_hook *hook);

/*
 * Tells of all places, calls and then entries, for as long as `tell` returns true. What it gets
 * stays valid until it returns. Returns 0, or CARRY_ERROR_UNSUPPORTED or CARRY_ERROR_MEMORY.
 */
CARRY_API int carry_hook_places(bool (*tell)(const struct carry_hook_place *place, void *user),
                                void *user);

/*
 * Makes the patchable entries of an object known, or forgets them: start and end of its section
 * __patchable_function_entries. CARRY_HOOK_ENTRIES does it when the object is loaded and unloaded;
 * before that, detach from its functions. To be called while nobody can run these functions.
 * Returns 0, or CARRY_ERROR_MEMORY, CARRY_ERROR_PERMISSION or CARRY_ERROR_UNSUPPORTED, and they
 * cannot be hooked.
 */
CARRY_API int carry_hook_register(const uintptr_t *start, const uintptr_t *stop);
CARRY_API void carry_hook_unregister(const uintptr_t *start);

/* Of the object that this is compiled into, by the linker. */
extern const uintptr_t __start___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));
extern const uintptr_t __stop___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));

CARRY_END_DECLS

/* CARRY_HOOK_ENTRIES;   in one source file of an object whose functions are to be hooked. */
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
