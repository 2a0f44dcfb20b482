/* SPDX-License-Identifier: MIT */
/*
 * Counts the allocations of a program, and makes them fail on request. The program must be linked
 * with -Wl,--wrap for each allocation function.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/tap.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *old);

static atomic_uint count, first, last; /* the numbers of those that fail: `first` to `last` */
static atomic_long alive;

void allocations_fail_from(unsigned number) {
    count = 0;
    first = number;
    last = UINT_MAX;
}

unsigned allocations_count(void) {
    return count;
}

long allocations_alive(void) {
    return alive;
}

/* Lets the allocations from `from` to `to` of an attempt fail. Sets `done` if there are not so
   many. */
static bool is_attempt_right(int (*attempt)(void *context), void *context, unsigned from,
                             unsigned to, bool *done) {
    const long before = alive;
    allocations_fail_from(from);
    last = to;
    const int code = attempt(context);
    *done = count < from;
    allocations_fail_from(0);
    return TAP_TRUE(code == CARRY_OK || (code == CARRY_ERROR_MEMORY && !*done)) &&
           TAP_EQ(alive, before);
}

bool allocations_all_fail(int (*attempt)(void *context), void *context) {
    bool ok = true, done = false;
    for (unsigned number = 1; !done && ok; number++) {
        ok = is_attempt_right(attempt, context, number, number, &done) &&
             is_attempt_right(attempt, context, number, UINT_MAX, &done);
        if (!ok)
            tap_note("allocation %u", number);
    }
    return ok;
}

static bool allocation_fails(void) {
    const unsigned number = ++count;
    return first && number >= first && number <= last;
}

static void *count_allocation(void *new) {
    alive += new != NULL;
    return new;
}

void *__wrap_malloc(size_t size) {
    return allocation_fails() ? NULL : count_allocation(__real_malloc(size));
}

void *__wrap_calloc(size_t number, size_t size) {
    return allocation_fails() ? NULL : count_allocation(__real_calloc(number, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (allocation_fails())
        return NULL;
    void *new = __real_realloc(old, size);
    alive += new && !old;
    return new;
}

char *__wrap_strdup(const char *text) {
    char *copy = __wrap_malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

void __wrap_free(void *old) {
    alive -= old != NULL;
    __real_free(old);
}
