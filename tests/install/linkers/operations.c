/* SPDX-License-Identifier: MIT */
/*
 * Passes values of all types that operations accept, and gets them back, before sites are patched
 * and after. Compiled as C11 to C23 and as C++17 to C++23.
 */
#include "expect.h"

#include <carry/patch.h>
#include <stdlib.h>
#include <wchar.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE extern
#endif

/* --- Values --- */

enum color { RED, GREEN = 70000 };
typedef int compare_fn(const void *, const void *);

CARRY_OP(signed char, of_char, signed char);
CARRY_OP(unsigned char, of_byte, unsigned char);
CARRY_OP(short, of_short, short);
CARRY_OP(uint16_t, of_word, uint16_t);
CARRY_OP(int, of_int, int);
CARRY_OP(unsigned, of_unsigned, unsigned);
CARRY_OP(int64_t, of_long, int64_t);
CARRY_OP(uint64_t, of_quad, uint64_t);
CARRY_OP(wchar_t, of_wide, wchar_t);
CARRY_OP(bool, of_bool, bool);
CARRY_OP(enum color, of_color, enum color);
CARRY_OP(const int *, of_pointer, const int *);
CARRY_OP(compare_fn *, of_function, compare_fn *);
CARRY_OP(void, of_nothing);

/* Defines a function that returns its argument. */
#define SAME(type, name)                                                                           \
    static type same_##name(type value) {                                                          \
        return value;                                                                              \
    }                                                                                              \
    CARRY_OP_DEFINE(of_##name, same_##name)
SAME(signed char, char);
SAME(unsigned char, byte);
SAME(short, short);
SAME(uint16_t, word);
SAME(int, int);
SAME(unsigned, unsigned);
SAME(int64_t, long);
SAME(uint64_t, quad);
SAME(wchar_t, wide);
SAME(bool, bool);
SAME(enum color, color);
SAME(const int *, pointer);
SAME(compare_fn *, function);

static long runs;
static void run_nothing(void) {
    runs++;
}
CARRY_OP_DEFINE(of_nothing, &run_nothing);

static int compare(const void *a, const void *b) {
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static void check_values(void) {
    static const int number = 5;
    EXPECT(carry_call(of_char)(-128), -128);
    EXPECT(carry_call(of_byte)(255), 255);
    EXPECT(carry_call(of_short)(-30000), -30000);
    EXPECT(carry_call(of_word)(65535), 65535);
    EXPECT(carry_call(of_int)(-2000000000), -2000000000);
    EXPECT(carry_call(of_unsigned)(4000000000u), 4000000000u);
    EXPECT(carry_call(of_long)(INT64_MIN) == INT64_MIN, true);
    EXPECT(carry_call(of_quad)(UINT64_MAX) == UINT64_MAX, true);
    EXPECT(carry_call(of_wide)(L'\x20ac'), 0x20ac);
    EXPECT(carry_call(of_bool)(true), true);
    EXPECT(carry_call(of_bool)(false), false);
    EXPECT(carry_call(of_color)(GREEN), GREEN);
    EXPECT(*carry_call(of_pointer)(&number), 5);
    EXPECT(carry_call(of_function)(compare)("a", "b"), -1);
    runs = 0;
    carry_call(of_nothing)();
    EXPECT(runs, 1);
}

/* --- Results with undefined bits --- */

#ifdef __x86_64__
/* Returns false in al. The ABI leaves the rest of eax undefined. */
__asm__(".text\nsays_no: movl $0x7fffff00, %eax\n\tret\n");
#define SAYS_NO(type, name) LINKAGE CARRY_HIDDEN type name(int) __asm__("says_no")

CARRY_OP(bool, ask_bool, int);
SAYS_NO(bool, no_bool);
CARRY_OP_DEFINE(ask_bool, no_bool);
CARRY_OP(const bool, ask_const, int);
SAYS_NO(const bool, no_const);
CARRY_OP_DEFINE(ask_const, no_const);
CARRY_OP(unsigned char, ask_byte, int);
SAYS_NO(unsigned char, no_byte);
CARRY_OP_DEFINE(ask_byte, no_byte);
#ifdef __cplusplus
enum class answer : bool { no, yes };
CARRY_OP(answer, ask_enum, int);
SAYS_NO(answer, no_enum);
CARRY_OP_DEFINE(ask_enum, no_enum);
#endif

static void check_narrow_results(void) {
    EXPECT(carry_call(ask_bool)(1) ? 1 : 0, 0);
    EXPECT(carry_call(ask_const)(1) ? 1 : 0, 0);
    EXPECT(carry_call(ask_byte)(1), 0);
#ifdef __cplusplus
    EXPECT(carry_call(ask_enum)(1) == answer::yes, false);
#endif
}
#else
static void check_narrow_results(void) {
}
#endif

/* --- Functions whose type is written differently --- */

typedef int number;
CARRY_OP(int, of_names, int, const char *);
static number by_names(number a, const char *const text) {
    return a + *text;
}
CARRY_OP_DEFINE(of_names, by_names);

CARRY_OP(void, never, int);
__attribute__((noreturn)) static void leave(int status) {
    exit(status);
}
CARRY_OP_DEFINE(never, leave);

CARRY_OP(void, act);
CARRY_OP_DEFINE(act, CARRY_OP_NOTHING(act));

static void check_names(void) {
    struct carry_patch patch;
    EXPECT(carry_call(of_names)(1, "\2"), 3);
    carry_call(act)();
    if (failures)
        carry_call(never)(1);
    carry_patch_begin(&patch);
    carry_set(&patch, act, failures ? CARRY_OP_NOTHING(act) : run_nothing);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    runs = 0;
    carry_call(act)();
    EXPECT(runs, 1);
    carry_patch_begin(&patch);
    carry_set(&patch, act, CARRY_OP_NOTHING(act));
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    carry_call(act)();
    EXPECT(runs, 1);
}

/* --- Namespaces --- */

#ifdef __cplusplus
namespace first {
struct packet {
    int size;
};
CARRY_OP(int, measure, packet *);
CARRY_KEY(busy);
static int half(packet *a) noexcept {
    return a->size / 2;
}
CARRY_OP_DEFINE(measure, half);
CARRY_KEY_DEFINE(busy, true);

static void check() {
    packet packet = {10};
    EXPECT(carry_call(measure)(&packet), 5);
    EXPECT(carry_unlikely(busy), true);
}
} // namespace first

/* The type of the argument is in namespace `first`, but does not select the operation of that
   namespace. */
namespace second {
CARRY_OP(int, measure, first::packet *);
CARRY_KEY_STATIC(busy, false);
static int twice(first::packet *a) {
    return a->size * 2;
}
static int twice(int a) {
    return a * 2;
}
CARRY_OP_DEFINE(measure, static_cast<carry_fn_measure *>(twice));

static void check() {
    first::packet packet = {10};
    struct carry_patch patch;
    EXPECT(carry_call(measure)(&packet), 20);
    EXPECT(carry_unlikely(busy), false);
    carry_patch_begin(&patch);
    carry_set(&patch, measure, twice);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(carry_call(measure)(&packet), twice(packet.size));
}
} // namespace second

namespace {
CARRY_OP(int, measure, int);
CARRY_KEY(busy);
int negate(int a) {
    return -a;
}
CARRY_OP_DEFINE(measure, negate);
CARRY_KEY_DEFINE(busy, false);
} // namespace

static void check_namespaces() {
    first::check();
    second::check();
    EXPECT(carry_call(measure)(3), -3);
    EXPECT(carry_likely(busy), false);
}
#else
static void check_namespaces(void) {
}
#endif

static void check(void) {
    check_values();
    check_narrow_results();
    check_names();
    check_namespaces();
}

int main(void) {
    check();
    EXPECT(carry_patch_apply(0), CARRY_OK);
    check();
    return result();
}
