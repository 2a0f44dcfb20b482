/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/process_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/command.h"

#define DELETED " (deleted)"

static bool parse_mapping(struct process_mapping *mapping, const char *line) {
    char permissions[5];
    unsigned major, minor;
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &mapping->start, &mapping->end, permissions, &mapping->offset, &major, &minor,
               &mapping->inode, &path) != 7)
        return false;
    mapping->device = makedev(major, minor);
    mapping->executable = permissions[2] == 'x';
    mapping->path = strdup(line + path);
    if (mapping->path)
        mapping->path[strcspn(mapping->path, "\n")] = '\0';
    return mapping->path;
}

static bool read_lines(struct process_map *map, FILE *file) {
    char *line = NULL;
    size_t size = 0;
    bool ok = true;
    while (ok && getline(&line, &size, file) > 0) {
        struct process_mapping *grown =
            reallocarray(map->mappings, map->count + 1, sizeof *map->mappings);
        if (grown)
            map->mappings = grown;
        ok = grown && parse_mapping(&grown[map->count], line);
        map->count += ok;
    }
    free(line);
    return ok && !ferror(file);
}

bool process_map_read(struct process_map *map, long pid) {
    *map = (struct process_map){0};
    int descriptor = process_open(pid, "maps");
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    bool ok = file && read_lines(map, file);
    int reason = errno;
    if (file)
        fclose(file);
    errno = reason;
    return ok;
}

void process_map_free(struct process_map *map) {
    for (size_t i = 0; i < map->count; i++)
        free(map->mappings[i].path);
    free(map->mappings);
    *map = (struct process_map){0};
}

const struct process_mapping *process_map_find(const struct process_map *map, uint64_t address) {
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->count && map->mappings[low].start <= address ? &map->mappings[low] : NULL;
}

int process_map_open(const struct process_mapping *mapping, long pid) {
    char link[64];
    char *path = NULL;
    int length = (int)strlen(mapping->path), mark = (int)strlen(DELETED);
    if (length > mark && strcmp(mapping->path + length - mark, DELETED) == 0)
        length -= mark;
    snprintf(link, sizeof link, "map_files/%" PRIx64 "-%" PRIx64, mapping->start, mapping->end);
    int file = process_open(pid, link);
    if (file < 0 && asprintf(&path, "root%.*s", length, mapping->path) > 0)
        file = process_open(pid, path);
    free(path);
    return file;
}

int process_open(long pid, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "/proc/%ld/%s", pid, name) < 0)
        return -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    return file;
}

int process_error(long pid) {
    if (errno == ENOENT || errno == ESRCH)
        return command_error("there is no process %ld", pid);
    if (errno == EACCES || errno == EPERM)
        return command_error("process %ld: no permission to trace it: run as its user, where "
                             "kernel.yama.ptrace_scope allows that, or as root",
                             pid);
    return command_error("process %ld: %s", pid, strerror(errno));
}
