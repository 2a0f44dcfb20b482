/* SPDX-License-Identifier: MIT */
#include "xstate/leavers_table.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

/* The most times to wait for a row: the process that was writing it may have been killed. */
#define PATIENCE 1000

/* --- Names --- */

/* Returns the place after a name; NULL if the name does not end within the table. */
static const char *next_name(const struct leavers_table *table, const char *name) {
    const char *end = table->names + LEAVERS_BYTES;
    const char *zero = name < end ? memchr(name, '\0', (size_t)(end - name)) : NULL;
    return zero ? zero + 1 : NULL;
}

bool leavers_table_names(const struct leavers_table *table, const struct leavers_row *row,
                         struct leavers_names *names) {
    if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) != LEAVERS_READY ||
        row->names >= LEAVERS_BYTES)
        return false;
    names->caller = table->names + row->names;
    names->function = next_name(table, names->caller);
    names->called = names->function ? next_name(table, names->function) : NULL;
    return names->called && next_name(table, names->called);
}

static char *add_name(char *place, const char *name) {
    size_t size = strlen(name) + 1;
    memcpy(place, name, size);
    return place + size;
}

static size_t size_of_names(const char *caller, const char *function, const char *called) {
    return strlen(caller) + strlen(function) + strlen(called) + 3;
}

static bool has_room(const struct leavers_table *table, size_t size) {
    return size <= LEAVERS_BYTES - __atomic_load_n(&table->names_used, __ATOMIC_RELAXED);
}

/* Writes the names of a row; returns false if other processes have taken the space for them. */
static bool write_names(struct leavers_table *table, struct leavers_row *row, const char *caller,
                        const char *function, const char *called) {
    uint32_t size = (uint32_t)size_of_names(caller, function, called);
    uint32_t place = __atomic_fetch_add(&table->names_used, size, __ATOMIC_RELAXED);
    if (size > LEAVERS_BYTES - place) {
        __atomic_fetch_sub(&table->names_used, size, __ATOMIC_RELAXED);
        return false;
    }
    row->names = place;
    add_name(add_name(add_name(table->names + place, caller), function), called);
    return true;
}

/* --- Rows --- */

static uint32_t hash_name(uint32_t value, const char *name) {
    while (*name)
        value = (value ^ (unsigned char)*name++) * 16777619; /* FNV-1a */
    return value * 16777619;
}

static bool is_row(const struct leavers_table *table, const struct leavers_row *row,
                   const char *caller, const char *function, const char *called) {
    struct leavers_names names;
    for (int i = 0; i < PATIENCE; i++) {
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) != LEAVERS_WRITTEN)
            break;
        sched_yield();
    }
    return leavers_table_names(table, row, &names) && strcmp(names.caller, caller) == 0 &&
           strcmp(names.function, function) == 0 && strcmp(names.called, called) == 0;
}

/* Takes a free row. Returns false if another process took the row, or if other processes took the
 * space for names, in which case the row remains unused. */
static bool take_row(struct leavers_table *table, struct leavers_row *row, const char *caller,
                     const char *function, const char *called) {
    uint32_t state = LEAVERS_FREE;
    if (!__atomic_compare_exchange_n(&row->state, &state, LEAVERS_WRITTEN, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return false;
    bool ok = write_names(table, row, caller, function, called);
    if (ok)
        __atomic_store_n(&row->state, LEAVERS_READY, __ATOMIC_RELEASE);
    return ok;
}

struct leavers_row *leavers_table_row(struct leavers_table *table, const char *caller,
                                      const char *function, const char *called) {
    uint32_t start = hash_name(hash_name(hash_name(2166136261, caller), function), called);
    for (uint32_t i = 0; i < LEAVERS_ROWS; i++) {
        struct leavers_row *row = &table->rows[(start + i) % LEAVERS_ROWS];
        bool is_free = __atomic_load_n(&row->state, __ATOMIC_RELAXED) == LEAVERS_FREE;
        if (is_free && !has_room(table, size_of_names(caller, function, called)))
            break;
        if ((is_free && take_row(table, row, caller, function, called)) ||
            is_row(table, row, caller, function, called))
            return row;
    }
    __atomic_fetch_add(&table->lost, 1, __ATOMIC_RELAXED);
    return NULL;
}
