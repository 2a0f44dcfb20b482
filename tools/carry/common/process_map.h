/* SPDX-License-Identifier: MIT */
/* Reads the memory mappings of a process from /proc. */
#ifndef CARRY_TOOLS_PROCESS_MAP_H
#define CARRY_TOOLS_PROCESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of /proc/PID/maps. */
struct process_mapping {
    uint64_t start, end, offset, device, inode;
    bool executable;
    char *path; /* "" for anonymous memory */
};

struct process_map {
    struct process_mapping *mappings; /* sorted by address */
    size_t count;
};

/* Reads the mappings. Returns false with errno set on failure; call process_map_free()
   even then. */
bool process_map_read(struct process_map *map, long pid);
void process_map_free(struct process_map *map);

/* Returns the mapping of an address; NULL if nothing is mapped there. */
const struct process_mapping *process_map_find(const struct process_map *map, uint64_t address);

/*
 * Opens the file of a mapping: by the kernel's link, which requires a capability, otherwise by its
 * name in the root of the process. If the file was removed, another file may have that name.
 * Returns -1 with errno set if neither can be opened.
 */
int process_map_open(const struct process_mapping *mapping, long pid);

/* Opens /proc/PID/NAME. Returns -1 with errno set on failure. */
int process_open(long pid, const char *name);

/* Reports errno about the process, and returns STATUS_ERROR. */
int process_error(long pid);

#endif
