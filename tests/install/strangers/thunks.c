/* SPDX-License-Identifier: MIT */
/* Stubs that the compiler makes, for functions of all kinds. */
#include <carry/thunk.h>

#include <stdarg.h>

#include "../linkers/expect.h"

struct big {
    long words[6];
};

static long enters, leaves;

static void enter(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)call;
    ++*(long *)thunk->user;
}

static void leave(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
    leaves++;
}

static int add(int a, double b) {
    return a + (int)b;
}

static double add_all(int count, ...) {
    va_list list;
    double sum = 0;
    va_start(list, count);
    while (count--)
        sum += va_arg(list, double);
    va_end(list);
    return sum;
}

static struct big multiples(int number) {
    struct big big;
    for (int i = 0; i < 6; i++)
        big.words[i] = number * i;
    return big;
}

struct carry_thunk add_thunk = {.enter = enter, .target = (const void *)add, .user = &enters};
struct carry_thunk all_thunk = {.enter = enter,
                                .leave = leave,
                                .target = (const void *)add_all,
                                .stack_words = 16,
                                .user = &enters};
struct carry_thunk multiples_thunk = {
    .enter = enter, .leave = leave, .target = (const void *)multiples, .user = &enters};
struct carry_thunk any_thunk = {.enter = enter, .user = &enters};

int thunked_add(int a, double b);
double thunked_all(int count, ...);
struct big thunked_multiples(int number);
void thunked_any(void);

CARRY_THUNK(thunked_add, add_thunk)
CARRY_THUNK_AROUND(thunked_all, all_thunk)
CARRY_THUNK_AROUND(thunked_multiples, multiples_thunk)
CARRY_THUNK_ANY(thunked_any, any_thunk)

int main(void) {
    EXPECT(thunked_add(1, 2.0), 3);
    EXPECT(enters, 0);
    EXPECT(carry_thunk_prepare(), CARRY_OK);
    EXPECT(thunked_add(1, 2.5), 3);
    EXPECT(thunked_all(10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0), 55);
    EXPECT(thunked_multiples(3).words[5], 15);
    /* Called by address: in the large code model, functions may be anywhere. */
    __asm__ volatile("lea -128(%%rsp), %%rsp; call *%0; lea 128(%%rsp), %%rsp"
                     :
                     : "r"(thunked_any)
                     : "memory");
    EXPECT(enters, 4);
    EXPECT(leaves, 2);
    return result();
}
