/* SPDX-License-Identifier: MIT */
#include "unit/hook/callee.h"

#include <stdarg.h>
#include <string.h>

struct callee_registers callee_seen;
struct callee_registers callee_results;

uint64_t callee_add(uint64_t a, uint64_t b) {
    return a + b;
}

double callee_variadic(int count, ...) {
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return sum;
}

uint64_t callee_weigh(int count, ...) {
    va_list list;
    uint64_t sum = 0;
    va_start(list, count);
    for (int i = 1; i <= count; i++)
        sum += (uint64_t)i * (unsigned)va_arg(list, int);
    va_end(list);
    return sum;
}

struct callee_big callee_make_big(uint64_t first) {
    return (struct callee_big){{first, first + 1, first + 2, first + 3, first + 4}};
}

struct callee_pair callee_make_pair(uint64_t integer, double real) {
    return (struct callee_pair){integer + 1, real + 1};
}

long double callee_long_double(long double a, int b) {
    return a * b;
}

uint64_t callee_eight(int a, int b, int c, int d, int e, int f, int g, int h) {
    return (uint64_t)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h);
}

uint64_t callee_twelve(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
                       int l) {
    return callee_eight(a, b, c, d, e, f, g, h) + (uint64_t)(9 * i + 10 * j + 11 * k + 12 * l);
}

#ifdef __x86_64__
callee_wide callee_add_wide(callee_wide a, callee_wide b) {
    return a + b;
}

callee_widest callee_add_widest(callee_widest a, callee_widest b) {
    return a + b;
}
#endif

void callee_jump(jmp_buf place, int value) {
    longjmp(place, value);
}

void callee_copy(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}

uint64_t callee_wait(const volatile int *gate, volatile int *inside) {
    *inside = 1;
    while (!*gate)
        ;
    return 7;
}

uint64_t callee_number(void) {
    return 2;
}

void callee_try_nowhere(bool really) {
    if (really)
        callee_nowhere();
}
