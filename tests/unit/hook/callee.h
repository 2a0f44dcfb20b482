/* SPDX-License-Identifier: MIT */
/* Functions of a shared object that are called through slots and pass values in different ways. */
#ifndef CARRY_TESTS_HOOK_CALLEE_H
#define CARRY_TESTS_HOOK_CALLEE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __aarch64__
#include "unit/hook/registers_aarch64.h"
#else
#include "unit/hook/registers_x86_64.h"
#endif

#define SHARED __attribute__((visibility("default")))

struct callee_big {
    uint64_t words[5];
};

struct callee_pair {
    uint64_t integer;
    double real;
};

typedef float callee_wide __attribute__((vector_size(32)));
typedef float callee_widest __attribute__((vector_size(64)));

SHARED uint64_t callee_add(uint64_t a, uint64_t b);
SHARED double callee_variadic(int count, ...);
SHARED struct callee_big callee_make_big(uint64_t first);
SHARED struct callee_pair callee_make_pair(uint64_t integer, double real);
SHARED long double callee_long_double(long double a, int b);
SHARED uint64_t callee_eight(int a, int b, int c, int d, int e, int f, int g, int h);
SHARED uint64_t callee_twelve(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
                              int k, int l);
SHARED uint64_t
callee_weigh(int count, ...); /* adds up `count` integers: 1 * the first + 2 * the second ... */
#ifdef __x86_64__
__attribute__((target("avx"))) SHARED callee_wide callee_add_wide(callee_wide a, callee_wide b);
__attribute__((target("avx512f"))) SHARED callee_widest callee_add_widest(callee_widest a,
                                                                          callee_widest b);
#endif
SHARED void callee_jump(jmp_buf place, int value);
SHARED void callee_copy(void *to, const void *from, size_t size); /* calls memcpy(), an IFUNC */
SHARED uint64_t callee_wait(const volatile int *gate, volatile int *inside);
SHARED uint64_t callee_number(void); /* returns 2 */
SHARED void callee_try_nowhere(bool really);

/* Names a function that does not exist. */
SHARED __attribute__((weak)) void callee_nowhere(void);

/* Defined in plugin.c. */
SHARED uint64_t plugin_number(void);
SHARED uint64_t plugin_numbers(bool really);

/* Registers in which a call may pass values, and registers that it must preserve. */
struct callee_registers {
    uint64_t passed[CALLEE_PASSED];
    uint64_t kept[CALLEE_KEPT];
    unsigned char vectors[8][16];
};

/*
 * The registers that callee_registers() received, and the results that it returns: two integers
 * and CALLEE_RESULTS vectors.
 */
extern SHARED struct callee_registers callee_seen;
extern SHARED struct callee_registers callee_results;
SHARED void callee_registers(void);

/* Does the same as callee_registers(), but in the program and with a patchable entry. */
void entry_registers(void);

/*
 * Calls callee_registers() (`which` 0) or entry_registers() (1) with the registers in `in`; stores
 * the registers after the call to `out`.
 */
void call_with(int which, const struct callee_registers *in, struct callee_registers *out);

/*
 * Calls callee_twelve() through a stub, with arguments 1 to 12, on the stack that ends at `end`
 * (aligned to 16 bytes). The last argument is directly before the end.
 */
uint64_t call_at_end(void *end, uintptr_t stub);

#endif
