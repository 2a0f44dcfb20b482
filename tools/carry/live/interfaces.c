/* SPDX-License-Identifier: MIT */
#include "live/interfaces.h"

#include <stdio.h>
#include <string.h>

static const char *interface_name(int index, char name[IF_NAMESIZE]) {
    if (!if_indextoname((unsigned)index, name))
        snprintf(name, IF_NAMESIZE, "if%d", index); /* the interface has disappeared */
    return name;
}

static unsigned find_name(struct interfaces *interfaces, const char *name) {
    unsigned number = 0;
    while (number < interfaces->count && strcmp(interfaces->names[number], name) != 0)
        number++;
    if (number == interfaces->count && number < INTERFACES_MAX)
        snprintf(interfaces->names[interfaces->count++], IF_NAMESIZE, "%s",
                 number < INTERFACES_MAX - 1 ? name : INTERFACES_OTHERS);
    return number < INTERFACES_MAX ? number : INTERFACES_MAX - 1;
}

unsigned interfaces_find(struct interfaces *interfaces, struct interface_cache *cache, int index,
                         const char *name) {
    char present[IF_NAMESIZE];
    const unsigned place = (unsigned)index % INTERFACES_MAX;
    if (cache->entries[place].index != index) {
        name = name ? name : interface_name(index, present);
        pthread_mutex_lock(&interfaces->lock);
        cache->entries[place].number = find_name(interfaces, name);
        pthread_mutex_unlock(&interfaces->lock);
        cache->entries[place].index = index;
    }
    return cache->entries[place].number;
}
