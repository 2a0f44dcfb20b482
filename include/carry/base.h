/* SPDX-License-Identifier: MIT */
/*
 * Shared by every public header: the version, the rules for arguments, linkage, and the error codes
 * that functions return.
 *
 * Arguments. These rules hold for every function of the library, unless its header says otherwise:
 *  - A pointer to a structure, a result or a function must not be NULL. This is not checked.
 *  - A pointer to bytes or to an array may be NULL where their size or number is 0.
 *  - A string may be NULL, which means none: no feature has that name, no mask is set, no kernel is
 *    asked for.
 *  - A number that is out of range (an index, an enumerator, a component, a listing) names nothing:
 *     - a function that names or describes a value returns "unknown";
 *     - a look-up returns false, NULL or 0;
 *     - a function that returns errors returns CARRY_ERROR_INVALID;
 *     - any other function does nothing.
 *  - Flag bits that no header names, and members called reserved, must be 0.
 *
 * Strings that functions return are static, and never NULL except as described for look-ups.
 */
#ifndef CARRY_BASE_H
#define CARRY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The only definition of the version: the build, the tool and the packages read it here. */
#define CARRY_VERSION_MAJOR 0
#define CARRY_VERSION_MINOR 2
#define CARRY_VERSION_PATCH 0

#define CARRY_VERSION_QUOTE(major, minor, patch)   #major "." #minor "." #patch
#define CARRY_VERSION_TEXT_OF(major, minor, patch) CARRY_VERSION_QUOTE(major, minor, patch)

/* The version of these headers: a number that grows with each version, and a text such as "1.2.3".
 * CARRY_VERSION_OF(major, minor, patch) is the number of any version. */
#define CARRY_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define CARRY_VERSION                                                                              \
    CARRY_VERSION_OF(CARRY_VERSION_MAJOR, CARRY_VERSION_MINOR, CARRY_VERSION_PATCH)
#define CARRY_VERSION_TEXT                                                                         \
    CARRY_VERSION_TEXT_OF(CARRY_VERSION_MAJOR, CARRY_VERSION_MINOR, CARRY_VERSION_PATCH)

#ifdef __cplusplus
/*
 * Suppresses warnings about these headers. -Wshadow: a function may have the name of the struct
 * that it fills. -Wold-style-cast and -Wuseless-cast: inline functions are the same text in C and
 * C++, with casts of C. Only GCC has -Wuseless-cast.
 */
#ifdef __clang__
#define CARRY_IGNORE_USELESS_CAST
#else
#define CARRY_IGNORE_USELESS_CAST _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")
#endif
#define CARRY_BEGIN_DECLS                                                                          \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")                  \
        _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                                     \
            CARRY_IGNORE_USELESS_CAST extern "C" {
#define CARRY_END_DECLS                                                                            \
    }                                                                                              \
    _Pragma("GCC diagnostic pop")
#define CARRY_C_LINKAGE extern "C"
#define CARRY_ASSERT    static_assert
#else
#define CARRY_BEGIN_DECLS
#define CARRY_END_DECLS
#define CARRY_C_LINKAGE extern
#define CARRY_ASSERT    _Static_assert
#endif

#define CARRY_API __attribute__((visibility("default")))

/*
 * Declares an inline function. Only the library contains a copy of its code, for calls that are not
 * inlined and for its address. gnu_inline gives C++ this behaviour of C: otherwise each object file
 * of C++ would contain and export a copy.
 */
#ifdef __cplusplus
#define CARRY_API_INLINE CARRY_API extern inline __attribute__((gnu_inline))
#else
#define CARRY_API_INLINE CARRY_API inline
#endif

/* Ends a macro that declares something: consumes the semicolon after it, in any namespace. */
#define CARRY_DECLARED CARRY_ASSERT(true, "")

CARRY_BEGIN_DECLS

/* Functions that can fail return CARRY_OK or one of the error codes, which are negative. */
#define CARRY_ERROR(name, number, text) name = number,
enum carry_error {
#include <carry/errors.def>
};
#undef CARRY_ERROR

/* Return the enumerator of an error as a text, such as "CARRY_ERROR_INVALID", and its description
 * in one line. */
CARRY_API const char *carry_error_name(int error);
CARRY_API const char *carry_error_text(int error);

/* Return the version of the running library, which may differ from the headers' version: as a
 * number to compare with CARRY_VERSION or CARRY_VERSION_OF(0, 2, 0), and as a text such as
 * "1.2.3". */
CARRY_API unsigned carry_version(void);
CARRY_API const char *carry_version_text(void);

CARRY_END_DECLS

#endif
