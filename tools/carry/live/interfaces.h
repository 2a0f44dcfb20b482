/* SPDX-License-Identifier: MIT */
/*
 * The interfaces that packets came from, numbered as they appear. There may be ever new ones, as
 * where containers come and go: beyond a number of them they are counted together.
 */
#ifndef CARRY_TOOLS_LIVE_INTERFACES_H
#define CARRY_TOOLS_LIVE_INTERFACES_H

#include <net/if.h>
#include <pthread.h>

#define INTERFACES_MAX    256u
#define INTERFACES_OTHERS "others"

/* Of all threads; a name stays as it is once it is there. */
struct interfaces {
    pthread_mutex_t lock;
    char names[INTERFACES_MAX][IF_NAMESIZE];
    unsigned count;
};

/* What a thread remembers of the system's indices. */
struct interface_cache {
    struct {
        int index; /* 0: nothing is remembered here */
        unsigned number;
    } entries[INTERFACES_MAX];
};

/* The number of the interface with this index, whose name is asked for if it is NULL. */
unsigned interfaces_find(struct interfaces *interfaces, struct interface_cache *cache, int index,
                         const char *name);

#endif
