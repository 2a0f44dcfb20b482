/* SPDX-License-Identifier: MIT */
/* A list of the traced threads. */
#ifndef CARRY_TOOLS_PROF_THREADS_H
#define CARRY_TOOLS_PROF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct traced {
    pid_t thread;
    pid_t process;
    bool asked; /* the thread was asked to stop, for a sample */
};

/* Sorted by number: new threads mostly have the highest number. */
struct threads {
    struct traced *rows;
    size_t count, capacity;
};

/* Returns a thread or NULL. The pointer is valid until a thread is added or removed. */
struct traced *threads_find(const struct threads *threads, pid_t thread);

/* Returns a thread, after adding it if it is new; NULL if there is no memory. */
struct traced *threads_add(struct threads *threads, pid_t thread);

void threads_remove(struct threads *threads, pid_t thread);
void threads_free(struct threads *threads);

#endif
