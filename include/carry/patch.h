/* SPDX-License-Identifier: MIT */
/*
 * Call sites, branches and inline alternatives that the running program patches, so that a choice
 * made at run time costs nothing where it is used.
 *
 *     CARRY_OP(uint32_t, route, const void *, size_t);      // in a header: an operation ...
 *     CARRY_KEY(tracing);                                   // ... and a key
 *
 *     CARRY_OP_DEFINE(route, route_plain);                  // in one source file of the object
 *     CARRY_KEY_DEFINE(tracing, false);
 *
 *     uint32_t next = carry_call(route)(packet, size);      // anywhere: a direct call
 *     if (carry_unlikely(tracing))                          // and a NOP
 *         trace(packet);
 *
 *     struct carry_patch patch;                             // at any time, threads may run
 *     carry_patch_begin(&patch);
 *     carry_set(&patch, route, route_fast);
 *     carry_enable(&patch, tracing);
 *     int error = carry_patch_commit(&patch);
 *
 * A *site* is a place in the program's text, described by a record of 16 bytes. Before a site is
 * patched, and wherever patching is refused, it reads its operation or key from memory: the program
 * does the same, a little slower. So errors of this module need no handling for correctness, except
 * the negative ones of carry_patch_commit(): after those, nothing has changed.
 *
 * Contract:
 *  - A commit takes effect as a whole or not at all: before it writes the first site, it verifies
 *    that every site holds the expected bytes, and it restores the written sites if a later one
 *    cannot be written. Threads that run meanwhile see each site in its old state or its new one.
 *    Sites change one after the other: code must not rely on two of them changing at once.
 *  - After a commit every thread runs the new state. A thread that is inside a function called
 *    earlier returns normally. A thread that runs the new state sees all that was written to
 *    memory before the commit.
 *  - One transaction is open at a time: carry_patch_begin() waits until the previous one is closed,
 *    so a thread must not begin a second one. A thread with an open transaction may load and unload
 *    objects, and is not cancelled before it commits or aborts. Commit from ordinary code, never
 *    from a signal handler.
 *  - A live commit exchanges the pages that hold its sites. A thread that reaches such a page waits
 *    in the system for some microseconds, whatever signals it blocks. Where the system refuses to
 *    exchange pages, threads are held at the sites: see carry_patch_select(). A program that
 *    replaces functions of the C library, such as pwrite() or memcpy(), must keep sites out of
 *    them: the commit calls these functions, and would wait for itself.
 *  - A program with one thread needs none of this: its commits neither exchange pages nor hold
 *    threads.
 *  - Sites need x86-64 and GCC 11 or Clang 11, or AArch64. With another architecture or compiler,
 *    with -mcmodel=large, or with CARRY_NO_SITES defined, there are no sites: operations are calls
 *    through a pointer, and keys are flags. Files with and without sites may be linked together.
 *  - On AArch64 the functions that call operations must not be streaming (SME). Where pages cannot
 *    be exchanged, a live commit there changes only calls, jumps and branches: calls of a function
 *    with a body are then direct, and alternatives stay as they are.
 *  - An operation has at most six arguments. Arguments and results must be integers, booleans,
 *    enumerations or pointers of at most 64 bits. The compiler refuses, in a message that names the
 *    operation, other types (floating point, vectors, structs, references), a function whose types
 *    differ from its operation's types, and a seventh argument.
 *  - In C++ the function that an operation calls must not throw. A name declared in a namespace
 *    belongs to that namespace: macros that use the name must be in the namespace or after a
 *    using-directive. Outside namespaces a name is the same in C and in C++.
 */
#ifndef CARRY_PATCH_H
#define CARRY_PATCH_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

/* An operation or a key, read by unpatched sites. All members except `value` are the library's. */
struct carry_key {
    uintptr_t value;            /* a function, or 0 or 1 */
    uintptr_t wanted;           /* the value that an open transaction will set */
    uintptr_t (*resolve)(void); /* called for the value before sites are first patched, or NULL */
    struct carry_key *changed;  /* the next key of an open transaction */
    struct carry_key *original; /* the key of another object that this key follows, or NULL */
    struct carry_key *imports;  /* the first key that follows this key; of a follower, the next */
};

/* A transaction. */
struct carry_patch {
    struct carry_key *changed;
};

/* The kinds of records. The library leaves sites of kinds that it does not know unchanged. */
enum carry_site_kind {
    CARRY_SITE_CALL = 1,        /* a call of an operation */
    CARRY_SITE_JUMP = 2,        /* a jump to an operation, at the end of a function in assembly */
    CARRY_SITE_BRANCH = 3,      /* a branch on a key */
    CARRY_SITE_ALTERNATIVE = 4, /* instructions with a replacement */
    CARRY_SITE_BODY = 5,        /* not a site: instructions that may replace a call of a function */
    CARRY_SITE_ENTRY = 6,       /* the NOPs at the start of a function: see <carry/hook.h> */
};

enum carry_site_flag {
    CARRY_SITE_JUMPS_IF_ON = 1, /* branch: a NOP while the key is off; without the flag, while on */
    CARRY_SITE_BY_FEATURE = 1,  /* alternative: `key` is the name of a CPU feature, a string */
    CARRY_SITE_SINGLE = 2,      /* alternative, entry: one instruction in each state */
    CARRY_SITE_RELATIVE = 4,    /* body: its last four bytes are an offset from its end */
    CARRY_SITE_SEVERAL = 8,     /* body: several instructions, for hosts that can stop all CPUs */
};

#define CARRY_SITE_VERSION 1

/* The record of a site, read-only, in section carry_sites. Offsets count from their own address. */
struct carry_site {
    int32_t site;
    int32_t key;
    int32_t aux; /* branch, entry: its stub; alternative and body: their bytes, in section
                    carry_bytes */
    uint8_t kind;
    uint8_t length; /* of the site, in bytes */
    uint8_t flags;
    uint8_t version;
};

/* Why a site is not patched. */
enum carry_patch_reason {
    CARRY_PATCH_NOT_ASKED,    /* no commit changed its key, and carry_patch_apply() has not run */
    CARRY_PATCH_RANGE,        /* the function is out of reach of a direct call */
    CARRY_PATCH_UNKNOWN_KIND, /* the record is for a newer library, or damaged */
    CARRY_PATCH_QUIESCENCE,   /* several instructions, which only a quiet program may change */
    CARRY_PATCH_PERMISSION,   /* the system does not allow text to be written */
    CARRY_PATCH_NO_SYNC,      /* the system cannot synchronise the cores that run threads */
    CARRY_PATCH_REASONS,
};

struct carry_patch_counts {
    size_t objects;    /* the executable and shared objects, if they have sites */
    size_t unrecorded; /* operations and keys of objects that have no sites, or whose link lost the
                          records */
    size_t sites;      /* all that are counted below; bodies are not */
    size_t direct;     /* calls and jumps that go directly to their function */
    size_t inlined;    /* calls replaced by the function's own instruction */
    size_t branches;   /* branches on keys, patched to a NOP or a jump */
    size_t alternatives; /* patched, or correctly in their default */
    size_t entries;      /* entries of functions, one instruction each: a NOP or a jump */
    size_t unpatched[CARRY_PATCH_REASONS];
    uint64_t commits;    /* that took effect */
    uint64_t written;    /* sites written by all commits */
    const char *backend; /* how text is written: "none" before the first commit */
    const char *guard; /* how the last commit held threads: as in carry_patch_select(), or "none" */
};

/* Opens a transaction; carry_patch_commit() or carry_patch_abort() closes it. */
CARRY_API void carry_patch_begin(struct carry_patch *patch);

/*
 * Adds a new value of a key to a transaction. carry_set(), carry_enable() and carry_disable() call
 * this function with a value of the key's type.
 */
CARRY_API void carry_patch_set(struct carry_patch *patch, struct carry_key *key, uintptr_t value);

/*
 * Makes all changes of a transaction. Returns 0 if they are in effect: sites that could not be
 * patched follow their key in memory, and carry_patch_stats() counts them and gives the reasons.
 * Returns a negative error if nothing changed:
 *  CARRY_ERROR_INVALID     the transaction is closed
 *  CARRY_ERROR_BYTES       a site holds bytes that this library did not put there
 *  CARRY_ERROR_PERMISSION  patched sites must change, and the system no longer lets text be written
 *  CARRY_ERROR_NO_SYNC     patched sites must change, and the system does not synchronise cores
 *  CARRY_ERROR_MEMORY      no memory for the list of sites
 *  CARRY_ERROR_BUSY        operating-system kernels: a CPU stays inside a site of several
 *                          instructions
 */
CARRY_API int carry_patch_commit(struct carry_patch *patch);

/* Closes a transaction and discards its changes. Does nothing if the transaction is closed. */
CARRY_API void carry_patch_abort(struct carry_patch *patch);

/* For carry_patch_apply(): no other thread runs sites during the call, so any site may change. */
#define CARRY_PATCH_QUIET 1u

/*
 * Patches every site of every object to the present value of its key, and from then on the sites
 * of each object when it is loaded. Call it once, when the program starts. Returns 0 or a negative
 * error of carry_patch_commit(); the program continues in both cases. Alternatives of several
 * instructions change only with CARRY_PATCH_QUIET, or while there is one thread.
 */
CARRY_API int carry_patch_apply(unsigned flags);

/*
 * Chooses how text is written from now on, and how threads are held meanwhile (NULL: the library
 * chooses). docs/patch.md says what each choice is for.
 *
 *  backend  "procmem", "alias" or "mprotect"
 *  guard    "remap"   pages are exchanged whole: no thread is held
 *           "jump"    threads spin at a jump; not with "procmem", nor where a site needs a trap
 *           "trap"    as "jump" where that is possible; elsewhere threads wait in a handler of
 *                     SIGTRAP, which no thread may block: Linux ends a process for a blocked trap
 *
 * By default the library exchanges pages; under a debugger it writes in place and uses jumps.
 * Where that is refused, it uses traps if it finds no thread and no handler that blocks SIGTRAP,
 * and jumps otherwise.
 *
 * Returns 0, CARRY_ERROR_UNKNOWN for other names, or CARRY_ERROR_UNSUPPORTED in operating-system
 * kernels. Where the choice does not work, commits return CARRY_ERROR_PERMISSION. Must not be
 * called between begin and commit.
 */
CARRY_API int carry_patch_select(const char *backend, const char *guard);

/* Counts the sites by the states that their text has now. */
CARRY_API void carry_patch_stats(struct carry_patch_counts *stats);

/* Returns the name of a reason, to display: "range", "permission", ... */
CARRY_API const char *carry_patch_reason_name(enum carry_patch_reason reason);

/*
 * Registers the sites of an object, or forgets them. `start` and `stop` are the ends of its section
 * carry_sites. CARRY_OP_DEFINE and the other definitions call these functions when the object is
 * loaded and unloaded; operating-system kernels call them directly. Returns 0 or a negative error,
 * after which the sites stay unpatched: CARRY_ERROR_MEMORY (the sites are not registered), or,
 * after carry_patch_apply(), an error of carry_patch_commit().
 *
 * An object that is unloaded must not be in use: first set operations that hold a function of the
 * object to another function. After its bodies are forgotten, the library no longer recognises
 * calls that it replaced with them: commits of such an operation fail with CARRY_ERROR_BYTES.
 */
CARRY_API int carry_patch_register(const struct carry_site *start, const struct carry_site *stop);
CARRY_API void carry_patch_unregister(const struct carry_site *start);

/*
 * Makes `import` follow `key` of another object, or stops that. See CARRY_KEY_IMPORT. Returns 0, or
 * a negative error of carry_patch_commit(): sites of `import`, patched earlier to its own value,
 * could not be updated.
 */
CARRY_API int carry_patch_import(struct carry_key *import, struct carry_key *key);
CARRY_API void carry_patch_unimport(struct carry_key *import);

/* Does nothing. A patched call of this function is a NOP: see CARRY_OP_NOTHING. */
CARRY_API uintptr_t carry_patch_nothing(void);

/*
 * Traps the thread. No CPU ever runs this function: after each site, text that is never reached
 * calls it. The call makes the compiler prepare the stack for calls, and assume that any memory may
 * change there. The function is not declared noreturn: the compiler would ignore what a noreturn
 * function may change.
 */
CARRY_API __attribute__((cold)) void carry_patch_never(void);

/* The sites of the object that includes this header, set by the linker; NULL without sites. */
extern const struct carry_site __start_carry_sites[] __attribute__((weak, visibility("hidden")));
extern const struct carry_site __stop_carry_sites[] __attribute__((weak, visibility("hidden")));

CARRY_END_DECLS

#define CARRY_HIDDEN __attribute__((visibility("hidden")))
#define CARRY_INLINE static inline __attribute__((always_inline, unused))

#ifdef __cplusplus
#define CARRY_CAST(type, value) reinterpret_cast<type>(value)
#define CARRY_NULL              nullptr
#else
#define CARRY_CAST(type, value) ((type)(value))
#define CARRY_NULL              NULL
#endif

#include <carry/features.def>
#include <carry/patch/types.h>

/* In the large code model, operations and keys may be out of reach of the offsets in sites. */
#if defined(__code_model_large__) || defined(__AARCH64_CMODEL_LARGE__) || defined(CARRY_NO_SITES)
#include <carry/patch/generic.h>
#elif defined(__x86_64__) && defined(__LP64__) &&                                                  \
    ((defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 11))
#include <carry/patch/x86_64.h>
#elif defined(__AARCH64EL__) && defined(__LP64__)
#include <carry/patch/aarch64.h>
#else
#include <carry/patch/generic.h>
#endif

/*
 * CARRY_OP(result, name, types...)   declares an operation, in a header or a source file.
 * CARRY_OP_DEFINE(name, function)    defines it, in one source file, with its first function.
 * carry_call(name)(arguments...)     calls it.
 * carry_set(&patch, name, function)  changes its function at the next commit.
 * carry_get(name)                    returns its present function.
 * CARRY_OP_EXPORT(name)              next to its definition: lets other objects import it.
 * CARRY_OP_IMPORT(name)              imports it, in one source file of another object.
 *
 * An operation belongs to one object (executable or shared object). Each object that uses the
 * operation needs CARRY_OP, and each other object CARRY_OP_IMPORT too. The same holds for keys.
 */
#define CARRY_OP(result, ...)                                                                      \
    CARRY_OP_PICK(__VA_ARGS__, CARRY_OP_MANY, CARRY_OP_MANY, CARRY_OP_MANY, CARRY_OP_MANY,         \
                  CARRY_OP_MANY, CARRY_OP_MANY, CARRY_OP_MANY, CARRY_OP_MANY, CARRY_OP_6,          \
                  CARRY_OP_5, CARRY_OP_4, CARRY_OP_3, CARRY_OP_2, CARRY_OP_1, CARRY_OP_0, ~)       \
    (result, __VA_ARGS__)
#define CARRY_OP_PICK(name, a, b, c, d, e, f, g, h, i, j, k, l, m, n, macro, ...) macro

#define CARRY_OP_MANY(result, name, ...)                                                           \
    CARRY_ASSERT(false, "CARRY_OP(" #name "): operations take at most six arguments, so pass a "   \
                        "pointer to a struct")

/* One macro for each number of arguments: checks the types and names the arguments. The file of the
 * architecture defines CARRY_OP_CALL. */
#define CARRY_OP_0(result, name)                                                                   \
    CARRY_OP_TYPED(result, name, (void))                                                           \
    CARRY_OP_CALL(0, result, name, (void))
#define CARRY_OP_1(result, name, A)                                                                \
    CARRY_OP_TAKES_1(name, A)                                                                      \
    CARRY_OP_TYPED(result, name, (A))                                                              \
    CARRY_OP_CALL(1, result, name, (A carry_a))
#define CARRY_OP_2(result, name, A, B)                                                             \
    CARRY_OP_TAKES_2(name, A, B)                                                                   \
    CARRY_OP_TYPED(result, name, (A, B))                                                           \
    CARRY_OP_CALL(2, result, name, (A carry_a, B carry_b))
#define CARRY_OP_3(result, name, A, B, C)                                                          \
    CARRY_OP_TAKES_3(name, A, B, C)                                                                \
    CARRY_OP_TYPED(result, name, (A, B, C))                                                        \
    CARRY_OP_CALL(3, result, name, (A carry_a, B carry_b, C carry_c))
#define CARRY_OP_4(result, name, A, B, C, D)                                                       \
    CARRY_OP_TAKES_4(name, A, B, C, D)                                                             \
    CARRY_OP_TYPED(result, name, (A, B, C, D))                                                     \
    CARRY_OP_CALL(4, result, name, (A carry_a, B carry_b, C carry_c, D carry_d))
#define CARRY_OP_5(result, name, A, B, C, D, E)                                                    \
    CARRY_OP_TAKES_5(name, A, B, C, D, E)                                                          \
    CARRY_OP_TYPED(result, name, (A, B, C, D, E))                                                  \
    CARRY_OP_CALL(5, result, name, (A carry_a, B carry_b, C carry_c, D carry_d, E carry_e))
#define CARRY_OP_6(result, name, A, B, C, D, E, F)                                                 \
    CARRY_OP_TAKES_6(name, A, B, C, D, E, F)                                                       \
    CARRY_OP_TYPED(result, name, (A, B, C, D, E, F))                                               \
    CARRY_OP_CALL(6, result, name,                                                                 \
                  (A carry_a, B carry_b, C carry_c, D carry_d, E carry_e, F carry_f))

#define CARRY_OP_TAKES_6(name, type, ...)                                                          \
    CARRY_OP_TAKES_1(name, type) CARRY_OP_TAKES_5(name, __VA_ARGS__)
#define CARRY_OP_TAKES_5(name, type, ...)                                                          \
    CARRY_OP_TAKES_1(name, type) CARRY_OP_TAKES_4(name, __VA_ARGS__)
#define CARRY_OP_TAKES_4(name, type, ...)                                                          \
    CARRY_OP_TAKES_1(name, type) CARRY_OP_TAKES_3(name, __VA_ARGS__)
#define CARRY_OP_TAKES_3(name, type, ...)                                                          \
    CARRY_OP_TAKES_1(name, type) CARRY_OP_TAKES_2(name, __VA_ARGS__)
#define CARRY_OP_TAKES_2(name, type, ...)                                                          \
    CARRY_OP_TAKES_1(name, type) CARRY_OP_TAKES_1(name, __VA_ARGS__)
#define CARRY_OP_TAKES_1(name, type)                                                               \
    CARRY_ASSERT(CARRY_TYPE_FITS(type) && !CARRY_TYPE_IS_VOID(type),                               \
                 "CARRY_OP(" #name "): no argument can be " #type ", as arguments of operations "  \
                 "are integers and pointers of at most 64 bits; pass a pointer to it");

#define CARRY_OP_TYPED(result, name, types)                                                        \
    CARRY_ASSERT(CARRY_TYPE_FITS(result) || CARRY_TYPE_IS_VOID(result),                            \
                 "CARRY_OP(" #name "): the result cannot be " #result ", as results of "           \
                 "operations are integers and pointers of at most 64 bits; have it stored "        \
                 "where an argument points to");                                                   \
    typedef result carry_fn_##name types;                                                          \
    extern CARRY_HIDDEN struct carry_key carry_op_##name;                                          \
    CARRY_INLINE carry_fn_##name *carry_get_##name(void) {                                         \
        return CARRY_CAST(carry_fn_##name *,                                                       \
                          __atomic_load_n(&carry_op_##name.value, __ATOMIC_ACQUIRE));              \
    }                                                                                              \
    CARRY_INLINE void carry_set_##name(struct carry_patch *carry_open,                             \
                                       carry_fn_##name *carry_function) {                          \
        carry_patch_set(carry_open, &carry_op_##name, CARRY_CAST(uintptr_t, carry_function));      \
    }

/* The end of messages about a function that is not of the operation's type. C by itself only warns
 * about such a function. */
#define CARRY_OP_UNLIKE                                                                            \
    ": the function is not of the result and the arguments that CARRY_OP declares; write one "     \
    "that is, and calls this one"
#define CARRY_OP_ASSERT(name, function)                                                            \
    CARRY_ASSERT(CARRY_FUNCTION_FITS(function, carry_fn_##name),                                   \
                 "CARRY_OP_DEFINE(" #name ")" CARRY_OP_UNLIKE)
#ifdef __cplusplus
extern "C++" {
template <bool Fits> struct carry_set_check {
    static_assert(Fits, "carry_set()" CARRY_OP_UNLIKE);
    static constexpr bool done = true;
};
}
#define CARRY_SET_CHECK(name, function)                                                            \
    (void)carry_set_check<CARRY_FUNCTION_FITS(function, carry_fn_##name)>::done
#else
#define CARRY_SET_CHECK(name, function)                                                            \
    (void)sizeof(struct {                                                                          \
        CARRY_ASSERT(CARRY_FUNCTION_FITS(function, carry_fn_##name),                               \
                     "carry_set(" #name ")" CARRY_OP_UNLIKE);                                      \
        bool done;                                                                                 \
    })
#endif

#define carry_get(name) carry_get_##name()
#define carry_set(patch, name, function)                                                           \
    (CARRY_SET_CHECK(name, function), (carry_set_##name)(patch, function))

/*
 * CARRY_OP_NOTHING(name)             is a function that does nothing, for carry_set(). A call of it
 *                                    returns 0. Where a NOP replaces the call, the result is
 *                                    undefined: the previous value of the result register.
 */
#define CARRY_OP_NOTHING(name)                                                                     \
    CARRY_CAST(carry_fn_##name *, CARRY_CAST(uintptr_t, carry_patch_nothing))

/*
 * CARRY_KEY(name)                    declares a key.
 * CARRY_KEY_DEFINE(name, on)         defines it, in one source file, with its first value.
 * CARRY_KEY_STATIC(name, on)         does both for a key that only this source file uses.
 * carry_unlikely(name)               true if it is on. Costs a NOP while off, a jump while on.
 * carry_likely(name)                 the same, with a NOP while on.
 * carry_enable(&patch, name), carry_disable(&patch, name)
 *                                    turn it on or off at the next commit.
 * CARRY_KEY_EXPORT(name)             next to its definition: lets other objects import it.
 * CARRY_KEY_IMPORT(name)             imports it, in one source file of another object.
 *
 * A static key is like a static variable: it lives as long as its object is loaded, and each file
 * that includes a header with a static key has its own.
 */
#define CARRY_KEY(name)                                                                            \
    extern CARRY_HIDDEN struct carry_key carry_key_##name;                                         \
    CARRY_KEY_BRANCHES(name)                                                                       \
    CARRY_DECLARED

#define CARRY_KEY_STATIC(name, on)                                                                 \
    static CARRY_PATCH_KEY(carry_key_##name, (on) ? 1 : 0, CARRY_NULL);                            \
    CARRY_KEY_BRANCHES(name)                                                                       \
    CARRY_PATCH_AT_LOAD(carry_key_##name, (void)0, (void)0)

#define carry_unlikely(name)       (__builtin_expect(carry_unlikely_##name(), 0) != 0)
#define carry_likely(name)         (__builtin_expect(carry_likely_##name(), 1) != 0)
#define carry_enable(patch, name)  carry_patch_set(patch, &carry_key_##name, 1)
#define carry_disable(patch, name) carry_patch_set(patch, &carry_key_##name, 0)

/* The definitions. Each registers the sites of its object at load time; one suffices. */
#define CARRY_OP_DEFINE(name, function) CARRY_OP_DEFINE_RESOLVED(name, function, CARRY_NULL)
#define CARRY_KEY_DEFINE(name, on)                                                                 \
    CARRY_ASSERT(sizeof(carry_likely_##name()) == sizeof(bool),                                    \
                 "CARRY_KEY_DEFINE(" #name "): CARRY_KEY(" #name ") comes first");                 \
    CARRY_PATCH_DEFINE(carry_key_##name, (on) ? 1 : 0, CARRY_NULL)

/*
 * CARRY_OP_DEFINE_RESOLVED(name, function, resolve)
 *                                    defines an operation. `resolve` returns its value, and is
 *                                    called if sites are patched before the value is set.
 */
#define CARRY_OP_DEFINE_RESOLVED(name, function, resolve)                                          \
    CARRY_OP_ASSERT(name, function);                                                               \
    CARRY_PATCH_DEFINE(carry_op_##name, CARRY_CAST(uintptr_t, function), resolve)

#define CARRY_OP_EXPORT(name)  CARRY_PATCH_EXPORT(carry_op_##name)
#define CARRY_OP_IMPORT(name)  CARRY_PATCH_IMPORT(carry_op_##name)
#define CARRY_KEY_EXPORT(name) CARRY_PATCH_EXPORT(carry_key_##name)
#define CARRY_KEY_IMPORT(name) CARRY_PATCH_IMPORT(carry_key_##name)

#define CARRY_PATCH_KEY(symbol, value, resolve)                                                    \
    struct carry_key symbol = {value, 0, resolve, CARRY_NULL, CARRY_NULL, CARRY_NULL}

#define CARRY_PATCH_DEFINE(symbol, value, resolve)                                                 \
    CARRY_PATCH_KEY(symbol, value, resolve);                                                       \
    CARRY_PATCH_AT_LOAD(symbol, (void)0, (void)0)

#define CARRY_PATCH_EXPORT(symbol)                                                                 \
    extern CARRY_API struct carry_key *const symbol##_export;                                      \
    struct carry_key *const symbol##_export = &symbol

/* Defines a weak key: a static link may contain the original itself. */
#define CARRY_PATCH_IMPORT(symbol)                                                                 \
    extern CARRY_API struct carry_key *const symbol##_export;                                      \
    __attribute__((weak)) CARRY_PATCH_KEY(symbol, 0, CARRY_NULL);                                  \
    CARRY_PATCH_AT_LOAD(symbol, carry_patch_import(&symbol, symbol##_export),                      \
                        carry_patch_unimport(&symbol))

/* Demands the name of a function: the library recognises calls by the function's address, and the
 * address of a pointer would not match. */
#define CARRY_BODY_ASSERT(function)                                                                \
    CARRY_ASSERT(CARRY_IS_FUNCTION(function), "CARRY_BODY(" #function "): no name of a function")

/* Refuses names without a row in CARRY_CPU_FEATURES: sites would keep their default for ever. */
#define CARRY_ALT_KNOWN(feature)                                                                   \
    ".set .Lcarry_known%=, 0\n\t"                                                                  \
    ".irp carry_name" CARRY_CPU_FEATURES(                                                          \
        CARRY_ALT_ROW) "\n\t"                                                                      \
                       ".ifc \\carry_name," feature "\n\t"                                         \
                       ".set .Lcarry_known%=, 1\n\t"                                               \
                       ".endif\n\t"                                                                \
                       ".endr\n\t"                                                                 \
                       ".if .Lcarry_known%= == 0\n\t"                                              \
                       ".error \"CARRY_ALT: carry_cpu_has() knows no feature " feature             \
                       "; by one of your own, use "                                                \
                       "CARRY_ALT_KEY and a key\"\n\t"                                             \
                       ".endif\n\t"

/*
 * CARRY_PATCH_OBJECT;   registers the sites of an object that has alternatives by feature, but
 *                       neither defines nor imports an operation or key. In one source file.
 */
#define CARRY_PATCH_OBJECT CARRY_PATCH_AT_LOAD(carry_patch_object, (void)0, (void)0)

/*
 * Operating-system kernels define CARRY_NO_CONSTRUCTORS and register objects themselves. Elsewhere
 * an object is registered before all its other constructors run, and unregistered after all its
 * other destructors: these may use what the object imports.
 */
#ifdef CARRY_NO_CONSTRUCTORS
#define CARRY_PATCH_AT_LOAD(symbol, load, unload) CARRY_DECLARED
#else
#define CARRY_PATCH_AT_LOAD(symbol, load, unload)                                                  \
    static __attribute__((constructor(101))) void symbol##_load(void) {                            \
        load;                                                                                      \
        carry_patch_register(__start_carry_sites, __stop_carry_sites);                             \
    }                                                                                              \
    static __attribute__((destructor(101))) void symbol##_unload(void) {                           \
        carry_patch_unregister(__start_carry_sites);                                               \
        unload;                                                                                    \
    }                                                                                              \
    CARRY_DECLARED
#endif

#endif
