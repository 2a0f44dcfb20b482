/* SPDX-License-Identifier: MIT */
/* Shared by the source files of a program with every kind of site. C11 and C++17. */
#ifndef CARRY_TESTS_LINKERS_SITES_H
#define CARRY_TESTS_LINKERS_SITES_H

#include <carry/patch.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE extern
#endif

/* For functions that are compiled only once, so that the number of their sites is fixed. */
#define ONCE LINKAGE __attribute__((noinline)) CARRY_HIDDEN

CARRY_OP(long, op0);
CARRY_OP(long, op1, int);
CARRY_OP(long, op2, long, signed char);
CARRY_OP(long, op3, long, long, long);
CARRY_OP(long, op4, long, long, long, long);
CARRY_OP(long, op5, long, long, long, long, long);
CARRY_OP(long, op6, long, long, long, long, long, unsigned char);
CARRY_OP(void, op_void, long *);
CARRY_OP(bool, op_bool, const void *);
CARRY_OP(const char *, op_text, const char *);
CARRY_OP(uint64_t, op_body, uint64_t);
CARRY_OP(void, op_static);
CARRY_KEY(key_off);
CARRY_KEY(key_on);
CARRY_KEY(key_alt);

/* Namespaces of C++ distinguish operations and keys of the same name. */
#ifdef __cplusplus
namespace apart {
CARRY_OP(long, op1, int);
CARRY_KEY(key_off);
CARRY_KEY(key_alt);
} // namespace apart
#endif

/*
 * The number of records that here.c, there.c and checks.c make. Records in functions that are never
 * called are counted separately.
 */
enum {
    CALLS = 19,
    BRANCHES = 9,
    ALTERNATIVES = 4,
    BODIES = 1,
    DEAD_CALLS = 1,
    DEAD_BRANCHES = 1,
    DEAD_ALTERNATIVES = 1,
    DEAD_BODIES = 1,
    FOLDED_CALLS = 2, /* of functions that equal other functions */
    FOLDED_BRANCHES = 1,
#ifdef __cplusplus
    SHARED_CALLS = 2, /* of functions that here.c and there.c define */
    SHARED_BRANCHES = 1,
    APART_CALLS = 1, /* in a namespace */
    APART_BRANCHES = 1,
    APART_ALTERNATIVES = 1,
#else
    SHARED_CALLS = 0,
    SHARED_BRANCHES = 0,
    APART_CALLS = 0,
    APART_BRANCHES = 0,
    APART_ALTERNATIVES = 0,
#endif
};

/* Copies its sites into each caller, because it is inlined. */
CARRY_INLINE long by_header(int a) {
    return carry_call(op1)(a) + (carry_unlikely(key_off) ? 100 : 0);
}

ONCE long call0(void);
ONCE long call1(int a);
ONCE long call2(long a, signed char b);
ONCE long call3(long a, long b, long c);
ONCE long call4(long a, long b, long c, long d);
ONCE long call5(long a, long b, long c, long d, long e);
ONCE long call6(long a, long b, long c, long d, long e, unsigned char f);
ONCE void call_void(long *a);
ONCE bool call_bool(const void *a);
ONCE const char *call_text(const char *a);
ONCE uint64_t call_body(uint64_t a);
ONCE void call_static(void);
ONCE long counted_by_call(void);
ONCE long if_off(void);
ONCE long if_on(void);
ONCE long if_both(void);
ONCE long if_own(void);
ONCE long leaf(long a);
ONCE double crowded(const double *numbers, const long *integers);
ONCE long in_loop(int count);
ONCE uint64_t alternative(uint64_t a);
ONCE uint64_t alternative_one(uint64_t a);
ONCE uint64_t alternative_key(uint64_t a);
ONCE uint64_t alternative_key_one(uint64_t a);
ONCE long header_here(int a);
ONCE long header_there(int a);
ONCE long twin_a(long a);
ONCE long twin_b(long a);
ONCE long shared_here(int a);
ONCE long shared_there(int a);
ONCE uint64_t body_function(uint64_t a);

/*
 * For each architecture: an instruction that adds a number, three instructions that add 4, a
 * feature of CPUs, and the body of a function that adds a number to its argument.
 */
#ifdef __aarch64__
#define FEATURE                                  "neon"
#define BY_FEATURE(macro, original, replacement) macro(original, neon, replacement)
#define ADD(number)                              "add %0, %1, #" #number
#define LONG_ADD4                                "mov %0, %1\n\tadd %0, %0, #2\n\tadd %0, %0, #2"
#define BODY_ADD(number)                         "add x0, x0, #" #number
#define SUM                                      "=&r"
#define TERM                                     "r"
#else
#define FEATURE                                  "sse42"
#define BY_FEATURE(macro, original, replacement) macro(original, sse42, replacement)
#define ADD(number)                              "lea " #number "(%1), %0"
#define LONG_ADD4                                "mov %1, %0; add $2, %0; add $2, %0"
#define BODY_ADD(number)                         "lea " #number "(%%rdi), %%rax"
#define SUM                                      "=&a"
#define TERM                                     "D"
#endif

/* Runs an alternative. In these tests the original and the replacement have different results,
   which show which one ran; in real programs, both do the same. */
#define RUN(text)             __asm__(text : SUM(result) : TERM(a) : "cc")
#define RUN_BY_KEY(text, key) __asm__(text : SUM(result) : TERM(a), CARRY_ALT_INPUT(key) : "cc")

/* Sets the key that if_own() reads. here.c and checks.c each have a key `key_own`. */
ONCE void set_own(struct carry_patch *patch, bool on);

#ifdef __cplusplus
namespace apart {
ONCE long run(long a);
ONCE void set(struct carry_patch *patch, bool on);
} // namespace apart

/* Has a definition in here.c and in there.c; the linker keeps one. */
__attribute__((noinline)) inline long shared(int a) {
    return carry_call(op1)(a) + (carry_likely(key_on) ? 1000 : 0);
}
template <typename Number> __attribute__((noinline)) Number shared_template(Number a) {
    return static_cast<Number>(carry_call(op1)(static_cast<int>(a)) + 2);
}
#define SHARED(a) (shared(a) + shared_template<long>(a))
#else
#define SHARED(a) (2 * (a) + 1002)
#endif

#endif
