/* SPDX-License-Identifier: MIT */
/*
 * Test results in the Test Anything Protocol, version 13. A test program calls tap_ok() once for
 * each point and returns tap_done() from main, which prints the plan and fails if any point failed
 * or none ran.
 *
 * A point joins its conditions with &&, each in a macro below. The condition that fails prints its
 * file, line and values:
 *
 *     tap_ok(TAP_EQ(count, 3) && TAP_STREQ(name, "eth0") && TAP_TRUE(is_open), "a capture");
 *
 * A failed point also prints the command that repeats it: with CARRY_TEST_POINT=N, a program prints
 * only point N, as its point 1, and ends there. The points before N run, but print nothing.
 */
#ifndef CARRY_TESTS_TAP_H
#define CARRY_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds every value of the integers and pointers that tests compare. */
__extension__ typedef __int128 tap_number;

#ifdef __cplusplus
#include <type_traits>

template <typename T> tap_number tap_number_of(T value) {
    static_assert(!std::is_floating_point<T>::value, "TAP_EQ() compares integers and pointers");
    if constexpr (std::is_pointer<T>::value)
        return reinterpret_cast<uintptr_t>(value);
    else
        return static_cast<tap_number>(value);
}

inline tap_number tap_number_of(decltype(nullptr)) {
    return 0;
}

#define TAP_NUMBER(value) tap_number_of(value)

extern "C" {
#else
/* Results of __builtin_classify_type() for pointers and for floating types. */
#define TAP_CLASS_POINTER 5
#define TAP_CLASS_REAL    8

#define TAP_NUMBER(value)                                                                          \
    __extension__({                                                                                \
        _Static_assert(__builtin_classify_type(value) != TAP_CLASS_REAL,                           \
                       "TAP_EQ() compares integers and pointers");                                 \
        (tap_number) __builtin_choose_expr(__builtin_classify_type(value) == TAP_CLASS_POINTER,    \
                                           (uintptr_t)(value), (value));                           \
    })
#endif

/*
 * Each macro returns a bool, prints a note if it is false, and evaluates its arguments once, from
 * left to right. Values are compared as numbers: an unsigned -1 differs from -1.
 */
#define TAP_EQ(actual, expected) TAP_COMPARE(actual, #actual, ==, "", expected)
#define TAP_NE(actual, expected) TAP_COMPARE(actual, #actual, !=, "!= ", expected)
#define TAP_LT(actual, expected) TAP_COMPARE(actual, #actual, <, "< ", expected)
#define TAP_LE(actual, expected) TAP_COMPARE(actual, #actual, <=, "<= ", expected)
#define TAP_GT(actual, expected) TAP_COMPARE(actual, #actual, >, "> ", expected)
#define TAP_GE(actual, expected) TAP_COMPARE(actual, #actual, >=, ">= ", expected)

#define TAP_COMPARE(actual, text, relation, relation_text, expected)                               \
    __extension__({                                                                                \
        const tap_number tap_actual = TAP_NUMBER(actual);                                          \
        const tap_number tap_expected = TAP_NUMBER(expected);                                      \
        const bool tap_holds = tap_actual relation tap_expected;                                   \
        if (!tap_holds)                                                                            \
            tap_report_numbers(__FILE__, __LINE__, text, tap_actual, relation_text, tap_expected); \
        tap_holds;                                                                                 \
    })

#define TAP_TRUE(condition)                                                                        \
    __extension__({                                                                                \
        const bool tap_holds = (condition);                                                        \
        if (!tap_holds)                                                                            \
            tap_report(__FILE__, __LINE__, "failed: %s", #condition);                              \
        tap_holds;                                                                                 \
    })

/* Compares strings; NULL equals nothing. */
#define TAP_STREQ(actual, expected)                                                                \
    __extension__({                                                                                \
        const char *tap_actual = (actual);                                                         \
        const char *tap_expected = (expected);                                                     \
        tap_strings_equal(__FILE__, __LINE__, #actual, tap_actual, tap_expected);                  \
    })

/* Compares bytes. */
#define TAP_MEMEQ(actual, expected, size)                                                          \
    __extension__({                                                                                \
        const void *tap_actual = (actual);                                                         \
        const void *tap_expected = (expected);                                                     \
        const size_t tap_size = (size);                                                            \
        tap_bytes_equal(__FILE__, __LINE__, #actual, tap_actual, tap_expected, tap_size);          \
    })

/* Adds a test point; the arguments after `condition` are as for printf. Returns `condition`. */
#define tap_ok(condition, ...) tap_point(__FILE__, __LINE__, #condition, condition, __VA_ARGS__)

/* Adds a test point that cannot run here, with the reason. */
void tap_skip(const char *name, const char *reason, ...) __attribute__((format(printf, 2, 3)));

/*
 * Skips a whole program that cannot run here. Returns the exit status, 0; nothing else may be
 * printed.
 */
int tap_skip_all(const char *reason);

/* Prints a note about the next point. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the plan. Returns the exit status: 0 if at least one point ran and none failed. */
int tap_done(void);

/* --- For the macros --- */

/* Returns `ok`. Prints `text` for a failure that nothing has reported. */
bool tap_point(const char *file, int line, const char *text, bool ok, const char *name, ...)
    __attribute__((format(printf, 5, 6)));

/* Prints a note with file and line: the reason why the next point fails. */
void tap_report(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports that the comparison with `expected` failed; `text` is the source of `actual`. */
void tap_report_numbers(const char *file, int line, const char *text, tap_number actual,
                        const char *relation, tap_number expected);
bool tap_strings_equal(const char *file, int line, const char *text, const char *actual,
                       const char *expected);
bool tap_bytes_equal(const char *file, int line, const char *text, const void *actual,
                     const void *expected, size_t size);

#ifdef __cplusplus
}
#endif

#endif
