/* SPDX-License-Identifier: MIT */
/*
 * Counts the allocations of a program and lets them fail: linked with -Wl,--wrap for each of them.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *old);

static atomic_uint count, first;
static atomic_long alive;

void allocations_fail_from(unsigned number) {
    count = 0;
    first = number;
}

unsigned allocations_count(void) {
    return count;
}

long allocations_alive(void) {
    return alive;
}

static bool allocation_fails(void) {
    const unsigned number = ++count;
    return first && number >= first;
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
