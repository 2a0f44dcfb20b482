/* SPDX-License-Identifier: MIT */
/* What a process has mapped, by its map in /proc. */
#ifndef CARRY_TOOLS_PROCESS_MAP_H
#define CARRY_TOOLS_PROCESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of /proc/PID/maps. */
struct process_mapping {
    uint64_t start, end, offset, device, inode;
    bool executable;
    char *path; /* "" where nothing is behind it */
};

struct process_map {
    struct process_mapping *mappings; /* by their addresses */
    size_t count;
};

/* False, with errno, if it cannot be read; what was read is to be freed all the same. */
bool process_map_read(struct process_map *map, long pid);
void process_map_free(struct process_map *map);

/* NULL if nothing is mapped there. */
const struct process_mapping *process_map_find(const struct process_map *map, uint64_t address);

/*
 * Opens the file behind a mapping: by the kernel's own link, which takes a capability, else by its
 * name where the process is. Of a file that was removed, another may have taken the name. -1, with
 * errno, if it cannot be had.
 */
int process_map_open(const struct process_mapping *mapping, long pid);

/* Opens /proc/PID/NAME. */
int process_open(long pid, const char *name);

/* Says why by errno, and returns STATUS_ERROR. */
int process_error(long pid);

#endif
