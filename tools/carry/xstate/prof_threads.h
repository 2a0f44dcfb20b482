/* SPDX-License-Identifier: MIT */
/* The threads that are traced. */
#ifndef CARRY_TOOLS_PROF_THREADS_H
#define CARRY_TOOLS_PROF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct traced {
    pid_t thread;
    pid_t process;
    bool asked; /* to stop, so that a sample is taken */
};

/* In the order of their numbers: new ones mostly come at the end. */
struct threads {
    struct traced *rows;
    size_t count, capacity;
};

/* NULL if there is none. Pointers are good until a thread is added or removed. */
struct traced *threads_find(const struct threads *threads, pid_t thread);

/* Finds it, or adds it; NULL without memory. */
struct traced *threads_add(struct threads *threads, pid_t thread);

void threads_remove(struct threads *threads, pid_t thread);
void threads_free(struct threads *threads);

#endif
