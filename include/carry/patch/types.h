/* SPDX-License-Identifier: MIT */
/*
 * The types that operations accept, in C and C++: types whose values fit into one general register.
 * The compiler's own classes of types decide, so qualifiers and typedef names make no difference.
 * This file is a part of <carry/patch.h>, which includes it.
 */
#ifndef CARRY_PATCH_TYPES_H
#define CARRY_PATCH_TYPES_H

#include <carry/base.h>

/* --- Arguments and results --- */

#ifdef __cplusplus

/* C++ has references, and classes that convert to integers, so the accepted types are listed. */
extern "C++" {
struct carry_type_refused {
    static constexpr bool fits = false;
};
struct carry_type_taken {
    static constexpr bool fits = true;
};
template <typename T, bool = __is_enum(T)> struct carry_type : carry_type_refused {};
template <typename T> struct carry_type<T, true> {
    static constexpr bool fits = sizeof(T) <= sizeof(uint64_t);
};
template <typename T> struct carry_type<T *, false> : carry_type_taken {};
template <typename T> struct carry_type<const T, false> : carry_type<T> {};
template <typename T> struct carry_type<volatile T, false> : carry_type<T> {};
template <typename T> struct carry_type<const volatile T, false> : carry_type<T> {};
template <> struct carry_type<bool> : carry_type_taken {};
template <> struct carry_type<char> : carry_type_taken {};
template <> struct carry_type<signed char> : carry_type_taken {};
template <> struct carry_type<unsigned char> : carry_type_taken {};
template <> struct carry_type<wchar_t> : carry_type_taken {};
#ifdef __cpp_char8_t
template <> struct carry_type<char8_t> : carry_type_taken {};
#endif
template <> struct carry_type<char16_t> : carry_type_taken {};
template <> struct carry_type<char32_t> : carry_type_taken {};
template <> struct carry_type<short> : carry_type_taken {};
template <> struct carry_type<unsigned short> : carry_type_taken {};
template <> struct carry_type<int> : carry_type_taken {};
template <> struct carry_type<unsigned int> : carry_type_taken {};
template <> struct carry_type<long> : carry_type_taken {};
template <> struct carry_type<unsigned long> : carry_type_taken {};
template <> struct carry_type<long long> : carry_type_taken {};
template <> struct carry_type<unsigned long long> : carry_type_taken {};

/* Checks whether a function, or one of its overloads, converts to a pointer to the type. */
template <typename Function> char carry_function_fits(Function *);
template <typename Function> short carry_function_fits(...);

/* Distinguishes names of functions from names of objects: types of functions ignore qualifiers. */
template <typename T> struct carry_named {
    static constexpr bool is_function = __is_same(const T, T);
};
}

#define CARRY_TYPE_FITS(type)               carry_type<type>::fits
#define CARRY_TYPE_IS_VOID(type)            __is_same(type, void)
#define CARRY_FUNCTION_FITS(function, type) (sizeof(carry_function_fits<type>(function)) == 1)
#define CARRY_IS_FUNCTION(name)             carry_named<decltype(name)>::is_function

#else

/* A value of the type, through a null pointer that is never followed. For void it is an int, which
 * has the same class. */
#define CARRY_TYPE_VALUE(type)                                                                     \
    (*_Generic((__typeof__(type) *)0,                                                              \
         void *: (int *)0,                                                                         \
         const void *: (int *)0,                                                                   \
         default: (__typeof__(type) *)0))
#define CARRY_TYPE_CLASS(type) __builtin_classify_type(CARRY_TYPE_VALUE(type))

/* The compilers' classes 1 to 5: integers, characters, enumerations, booleans and pointers. */
#define CARRY_TYPE_FITS(type)                                                                      \
    (CARRY_TYPE_CLASS(type) >= 1 && CARRY_TYPE_CLASS(type) <= 5 &&                                 \
     sizeof(CARRY_TYPE_VALUE(type)) <= sizeof(uint64_t))
#define CARRY_TYPE_IS_VOID(type) __builtin_types_compatible_p(type, void)
#define CARRY_FUNCTION_FITS(function, type)                                                        \
    __builtin_types_compatible_p(__typeof__(*(function)), type)
#define CARRY_IS_FUNCTION(name) __builtin_types_compatible_p(__typeof__(*(name)), __typeof__(name))

#endif

#endif
