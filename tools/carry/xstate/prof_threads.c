/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xstate/prof_threads.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of a thread, or the index at which it would be inserted. */
static size_t place_of_thread(const struct threads *threads, pid_t thread) {
    size_t low = 0, high = threads->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (threads->rows[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct threads *threads, size_t place, pid_t thread) {
    return place < threads->count && threads->rows[place].thread == thread;
}

static bool make_thread_room(struct threads *threads) {
    if (threads->count < threads->capacity)
        return true;
    size_t capacity = threads->capacity ? 2 * threads->capacity : 64;
    struct traced *rows = reallocarray(threads->rows, capacity, sizeof *rows);
    if (!rows)
        return false;
    threads->rows = rows;
    threads->capacity = capacity;
    return true;
}

struct traced *threads_find(const struct threads *threads, pid_t thread) {
    size_t place = place_of_thread(threads, thread);
    return is_at(threads, place, thread) ? &threads->rows[place] : NULL;
}

struct traced *threads_add(struct threads *threads, pid_t thread) {
    size_t place = place_of_thread(threads, thread);
    if (is_at(threads, place, thread))
        return &threads->rows[place];
    if (!make_thread_room(threads))
        return NULL;
    struct traced *row = &threads->rows[place];
    memmove(row + 1, row, (threads->count++ - place) * sizeof *row);
    *row = (struct traced){.thread = thread, .process = thread};
    return row;
}

void threads_remove(struct threads *threads, pid_t thread) {
    size_t place = place_of_thread(threads, thread);
    if (!is_at(threads, place, thread))
        return;
    struct traced *row = &threads->rows[place];
    memmove(row, row + 1, (--threads->count - place) * sizeof *row);
}

void threads_free(struct threads *threads) {
    free(threads->rows);
    *threads = (struct threads){0};
}
