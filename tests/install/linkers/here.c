/* SPDX-License-Identifier: MIT */
/* The definitions of the operations and keys, and most of the sites. */
#include "sites.h"

static long zero(void) {
    return 40;
}
static long one(int a) {
    return a;
}
static long two(long a, signed char b) {
    return a + b;
}
static long three(long a, long b, long c) {
    return a + 2 * b + 3 * c;
}
static long four(long a, long b, long c, long d) {
    return a + 2 * b + 3 * c + 4 * d;
}
static long five(long a, long b, long c, long d, long e) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e;
}
static long six(long a, long b, long c, long d, long e, unsigned char f) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}
static void increment(long *a) {
    ++*a;
}
static bool is_something(const void *a) {
    return a != NULL;
}
static const char *behind_first(const char *a) {
    return a + 1;
}
static uint64_t same(uint64_t a) {
    return a;
}

/* Only this file can change this variable: a compiler may keep its value across calls that do not
   change it. */
static long counted;
static void count(void) {
    counted++;
}

CARRY_OP_DEFINE(op0, zero);
CARRY_OP_DEFINE(op1, one);
CARRY_OP_DEFINE(op2, two);
CARRY_OP_DEFINE(op3, three);
CARRY_OP_DEFINE(op4, four);
CARRY_OP_DEFINE(op5, five);
CARRY_OP_DEFINE(op6, six);
CARRY_OP_DEFINE(op_void, increment);
CARRY_OP_DEFINE(op_bool, is_something);
CARRY_OP_DEFINE(op_text, behind_first);
CARRY_OP_DEFINE(op_body, same);
CARRY_OP_DEFINE(op_static, count);
CARRY_KEY_DEFINE(key_off, false);
CARRY_KEY_DEFINE(key_on, true);
CARRY_KEY_DEFINE(key_alt, false);
CARRY_KEY_STATIC(key_own, false);

uint64_t body_function(uint64_t a) {
    CARRY_BODY(body_function, BODY_ADD(3));
    return a + 3;
}

long call0(void) {
    return carry_call(op0)();
}
long call1(int a) {
    return carry_call(op1)(a);
}
long call2(long a, signed char b) {
    return carry_call(op2)(a, b);
}
long call3(long a, long b, long c) {
    return carry_call(op3)(a, b, c);
}
long call4(long a, long b, long c, long d) {
    return carry_call(op4)(a, b, c, d);
}
long call5(long a, long b, long c, long d, long e) {
    return carry_call(op5)(a, b, c, d, e);
}
long call6(long a, long b, long c, long d, long e, unsigned char f) {
    return carry_call(op6)(a, b, c, d, e, f);
}
void call_void(long *a) {
    carry_call(op_void)(a);
}
bool call_bool(const void *a) {
    return carry_call(op_bool)(a);
}
const char *call_text(const char *a) {
    return carry_call(op_text)(a);
}
void call_static(void) {
    carry_call(op_static)();
}
long counted_by_call(void) {
    long before = counted;
    call_static();
    return counted - before;
}
uint64_t call_body(uint64_t a) {
    return carry_call(op_body)(a);
}

long if_off(void) {
    if (carry_unlikely(key_off))
        return 1;
    return 0;
}
long if_on(void) {
    if (carry_likely(key_on))
        return 1;
    return 0;
}
/* Uses each key with the likelihood that is wrong for its initial value. */
long if_both(void) {
    long result = 0;
    if (carry_likely(key_off))
        result += 1;
    /* This much code keeps compilers from duplicating the site after it. */
    __asm__ __volatile__(".rept 16\n\tnop\n\t.endr" : "+r"(result));
    if (carry_unlikely(key_on))
        result += 2;
    return result;
}

long if_own(void) {
    return carry_unlikely(key_own) ? 1 : 0;
}
void set_own(struct carry_patch *patch, bool on) {
    if (on)
        carry_enable(patch, key_own);
    else
        carry_disable(patch, key_own);
}

/* Looks like a leaf function to the compiler, which might keep the array below the stack
   pointer. */
long leaf(long a) {
    volatile long kept[8];
    for (long i = 0; i < 8; i++)
        kept[i] = a * i;
    long sum = carry_call(op2)(a, -1);
    for (long i = 0; i < 8; i++)
        sum += kept[i];
    return sum;
}

/* Keeps more values live across the call than there are callee-saved registers. */
double crowded(const double *numbers, const long *integers) {
    double a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3];
    long e = integers[0], f = integers[1], g = integers[2], h = integers[3], i = integers[4];
    long called = carry_call(op6)(e, f, g, h, i, 1);
    return (double)called + a * 2 + b * 3 + c * 4 + d * 5 +
           (double)(e * 2 + f * 3 + g * 4 + h * 5 + i * 6);
}

long in_loop(int count) {
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += carry_unlikely(key_off) ? 2 : carry_call(op1)(i);
    return sum;
}

uint64_t alternative(uint64_t a) {
    uint64_t result;
    RUN(BY_FEATURE(CARRY_ALT, LONG_ADD4, ADD(0x40)));
    return result;
}
uint64_t alternative_key(uint64_t a) {
    uint64_t result;
    RUN_BY_KEY(CARRY_ALT_KEY(ADD(0x10), key_alt, LONG_ADD4), key_alt);
    return result;
}
uint64_t alternative_one(uint64_t a) {
    uint64_t result;
    RUN(BY_FEATURE(CARRY_ALT_ONE, ADD(4), ADD(0x40)));
    return result;
}

long header_here(int a) {
    return by_header(a);
}
long shared_here(int a) {
    return SHARED(a);
}
long twin_a(long a) {
    return carry_call(op2)(a, 5);
}

/* Functions that are never called, and differ from each other. */
ONCE long dead_call(long a);
long dead_call(long a) {
    return a + carry_call(op0)();
}
ONCE long dead_branch(long a);
long dead_branch(long a) {
    return carry_unlikely(key_off) ? a : 9;
}
ONCE uint64_t dead_alternative(uint64_t a);
uint64_t dead_alternative(uint64_t a) {
    uint64_t result;
    RUN(BY_FEATURE(CARRY_ALT, ADD(12), ADD(13)));
    return result;
}
ONCE uint64_t dead_body(uint64_t a);
uint64_t dead_body(uint64_t a) {
    CARRY_BODY(dead_body, BODY_ADD(9));
    return a + 9;
}

#ifdef __cplusplus
namespace apart {
static long times_3(int a) {
    return 3 * a;
}
static long times_5(int a) {
    return 5 * a;
}
CARRY_OP_DEFINE(op1, times_3);
CARRY_KEY_DEFINE(key_off, false);
CARRY_KEY_DEFINE(key_alt, false);

long run(long a) {
    long result;
    RUN_BY_KEY(CARRY_ALT_KEY_ONE(ADD(0x100), key_alt, ADD(0x200)), key_alt);
    return carry_call(op1)(static_cast<int>(result)) + (carry_unlikely(key_off) ? 1 : 0);
}
void set(struct carry_patch *patch, bool on) {
    carry_set(patch, op1, on ? times_5 : times_3);
    carry_patch_set(patch, &carry_key_key_off, on);
    carry_patch_set(patch, &carry_key_key_alt, on);
}
} // namespace apart
#endif
