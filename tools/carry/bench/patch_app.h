/* SPDX-License-Identifier: MIT */
/* Applications that call operations and test flags, each compiled in several forms. */
#ifndef CARRY_TOOLS_BENCH_PATCH_APP_H
#define CARRY_TOOLS_BENCH_PATCH_APP_H

#include <carry/patch.h>

#include "common/measure.h"

/* The forms of all operations and flags of an application. */
enum patch_app_form {
    APP_COMPILED_IN, /* calls by name, which the compiler may inline; there are no flags */
    APP_POINTERS,    /* calls through pointers; flags are in memory */
    APP_PATCHED,     /* sites; the last form, as architectures without sites lack it */
    APP_FORMS,
};
extern const char *const patch_app_form_names[APP_FORMS];

struct patch_app {
    const char *name;
    const char *title;
    const char *unit; /* what the application processes: a packet, a request */
    size_t units;     /* units of one pass */
    size_t calls;     /* of operations, per unit */
    size_t branches;  /* on flags, per unit */

    bool (*open)(void); /* false, with errno: the system lacks what the application needs */
    void (*close)(void);

    /* Processes `passes` passes. Returns a number that depends on all of them. */
    uint32_t (*run)(enum patch_app_form form, size_t passes);

    /* Adds all operations and keys to a transaction, with their current values. */
    void (*add)(struct carry_patch *patch);
};

extern const struct patch_app patch_app_packets, patch_app_server;

/*
 * Calls operation `name`, or tests key `name`, in one form. `form` is a constant, so that the
 * compiler removes the other forms; `name`_pointer and `name`_flag are variables.
 */
#define APP_CALL(form, name, ...)                                                                  \
    ((form) == APP_COMPILED_IN ? name##_function(__VA_ARGS__)                                      \
     : (form) == APP_POINTERS  ? name##_pointer(__VA_ARGS__)                                       \
                               : carry_call(name)(__VA_ARGS__))
#define APP_TEST(form, name)                                                                       \
    ((form) == APP_COMPILED_IN ? false                                                             \
     : (form) == APP_POINTERS  ? __builtin_expect(name##_flag, 0)                                  \
                               : carry_unlikely(name))

#define APP_ALWAYS_INLINE inline __attribute__((always_inline))
#define APP_NOINLINE      __attribute__((noinline))
#define APP_COLD          __attribute__((cold, noinline))

/* Makes the compiler expect that a variable changes. */
#define APP_MAY_CHANGE(variable) __asm__ volatile("" : "+m"(variable))

/* Defines a function `run`, which calls the inline function `process` with a constant form. */
#define APP_RUN(run, process)                                                                      \
    static APP_NOINLINE uint32_t run##_compiled_in(size_t passes) {                                \
        return process(APP_COMPILED_IN, passes);                                                   \
    }                                                                                              \
    static APP_NOINLINE uint32_t run##_pointers(size_t passes) {                                   \
        return process(APP_POINTERS, passes);                                                      \
    }                                                                                              \
    static APP_NOINLINE uint32_t run##_patched(size_t passes) {                                    \
        return process(APP_PATCHED, passes);                                                       \
    }                                                                                              \
    static uint32_t run(enum patch_app_form form, size_t passes) {                                 \
        if (form == APP_COMPILED_IN)                                                               \
            return run##_compiled_in(passes);                                                      \
        return form == APP_POINTERS ? run##_pointers(passes) : run##_patched(passes);              \
    }

#endif
