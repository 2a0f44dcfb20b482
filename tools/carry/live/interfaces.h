/* SPDX-License-Identifier: MIT */
/* Numbers the interfaces of packets in the order of their appearance. Where containers start and
   stop, new interfaces keep appearing. Interfaces beyond a limit share one number. */
#ifndef CARRY_TOOLS_LIVE_INTERFACES_H
#define CARRY_TOOLS_LIVE_INTERFACES_H

#include <net/if.h>
#include <pthread.h>

#define INTERFACES_MAX    256u
#define INTERFACES_OTHERS "others"

/* Shared by all threads. A name never changes once it is set. */
struct interfaces {
    pthread_mutex_t lock;
    char names[INTERFACES_MAX][IF_NAMESIZE];
    unsigned count;
};

/* The numbers of the interfaces that a thread has found, by the system's index. */
struct interface_cache {
    struct {
        int index; /* 0: unused entry */
        unsigned number;
    } entries[INTERFACES_MAX];
};

/* Returns the number of the interface with the system's index `index`. Looks up its name if `name`
   is NULL. */
unsigned interfaces_find(struct interfaces *interfaces, struct interface_cache *cache, int index,
                         const char *name);

#endif
