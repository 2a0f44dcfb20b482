/* SPDX-License-Identifier: MIT */
/* The objects of a process, by its map in /proc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "sites_program.h"

#define PAGE_BYTES UINT64_C(4096)

/* A line of /proc/PID/maps. */
struct mapping {
    uint64_t start, end, offset, inode;
    bool executable;
    char *path;
};

struct map {
    struct mapping *mappings;
    size_t count;
};

/* --- The map --- */

static bool parse_mapping(struct mapping *mapping, const char *line) {
    char permissions[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &mapping->start,
               &mapping->end, permissions, &mapping->offset, &mapping->inode, &path) != 5)
        return false;
    mapping->executable = permissions[2] == 'x';
    mapping->path = strdup(line + path);
    if (mapping->path)
        mapping->path[strcspn(mapping->path, "\n")] = '\0';
    return mapping->path;
}

static bool read_map(struct map *map, FILE *file) {
    char *line = NULL;
    size_t size = 0;
    bool ok = true;
    while (ok && getline(&line, &size, file) > 0) {
        struct mapping *grown = reallocarray(map->mappings, map->count + 1, sizeof *map->mappings);
        if (grown)
            map->mappings = grown;
        ok = grown && parse_mapping(&grown[map->count], line);
        map->count += ok;
    }
    free(line);
    return ok && !ferror(file);
}

static void free_map(struct map *map) {
    for (size_t i = 0; i < map->count; i++)
        free(map->mappings[i].path);
    free(map->mappings);
}

static bool is_executable_at(const struct map *map, uint64_t address) {
    for (size_t i = 0; i < map->count; i++)
        if (address - map->mappings[i].start < map->mappings[i].end - map->mappings[i].start)
            return map->mappings[i].executable;
    return false;
}

/* --- Objects --- */

#define DELETED " (deleted)"

/*
 * The file behind a mapping: by the kernel's own link, which takes a capability, else by its name
 * where the process is. Of a file that was removed, another may have taken the name.
 */
static int open_mapped(const struct program *program, const struct mapping *mapping) {
    char link[96];
    char *path = NULL;
    int length = (int)strlen(mapping->path), mark = (int)strlen(DELETED);
    if (length > mark && strcmp(mapping->path + length - mark, DELETED) == 0)
        length -= mark;
    snprintf(link, sizeof link, "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, program->pid,
             mapping->start, mapping->end);
    int file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && asprintf(&path, "/proc/%ld/root%.*s", program->pid, length, mapping->path) > 0)
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    return file;
}

static bool starts_as_elf(const struct program *program, uint64_t address) {
    char magic[4];
    return program_read(program, address, magic, sizeof magic) &&
           memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* Is it loaded to be run, rather than mapped to be read? */
static bool is_loaded(const struct object *object, const struct map *map) {
    for (size_t i = 0; i < object->loads_count; i++)
        if (object->loads[i].executable)
            return is_executable_at(map, object->loads[i].address);
    return false;
}

/* Records never change, so those in memory tell whether this is the file that was loaded. */
static bool is_unchanged(const struct program *program, const struct object *object) {
    for (uint64_t done = 0; done < object->section_bytes;) {
        uint8_t in_file[4096], in_memory[sizeof in_file];
        uint64_t rest = object->section_bytes - done;
        size_t size = rest < sizeof in_file ? (size_t)rest : sizeof in_file;
        if (!object_read(object, object->section + done, in_file, size) ||
            !program_read(program, object->section + done, in_memory, size) ||
            memcmp(in_file, in_memory, size) != 0)
            return false;
        done += size;
    }
    return true;
}

static void skip(const struct program *program, const struct mapping *mapping, const char *reason) {
    command_error("process %ld: %s: %s; its sites are left out", program->pid, mapping->path,
                  reason);
}

/* Moves an object to where it is mapped. True if its sites are the process's. */
static bool is_wanted(const struct program *program, const struct map *map,
                      const struct mapping *mapping, struct object *object) {
    object_move(object, mapping->start - (object->loads[0].address & ~(PAGE_BYTES - 1)));
    if (!is_loaded(object, map))
        return false;
    if (is_unchanged(program, object))
        return true;
    skip(program, mapping, "has changed since it was loaded");
    return false;
}

/* An object that cannot be read is told of and left out: its sites are not in what follows. */
static void add_mapped(struct program *program, const struct map *map,
                       const struct mapping *mapping) {
    char problem[OBJECT_PROBLEM_SIZE];
    int file = open_mapped(program, mapping);
    if (file < 0) {
        skip(program, mapping, strerror(errno));
        return;
    }
    char *path = strdup(mapping->path);
    struct object *object = object_open(file, path, problem);
    if (!object)
        skip(program, mapping, problem);
    else if (path && is_wanted(program, map, mapping, object) && program_add(program, object, path))
        return;
    else
        object_close(object);
    free(path);
}

static void add_objects(struct program *program, const struct map *map) {
    for (size_t i = 0; i < map->count; i++) {
        const struct mapping *mapping = &map->mappings[i];
        if (mapping->inode && !mapping->offset && starts_as_elf(program, mapping->start))
            add_mapped(program, map, mapping);
    }
}

/* --- The process --- */

static int open_proc(long pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int not_opened(const struct program *program) {
    if (errno == ENOENT || errno == ESRCH)
        return command_error("there is no process %ld", program->pid);
    if (errno == EACCES || errno == EPERM)
        return command_error("may not read process %ld: it takes the permission to trace it (be "
                             "its user and see kernel.yama.ptrace_scope, or be root)",
                             program->pid);
    return command_error("process %ld: %s", program->pid, strerror(errno));
}

int program_open_process(struct program *program) {
    struct map map = {0};
    int file = open_proc(program->pid, "maps");
    FILE *maps = file < 0 ? NULL : fdopen(file, "r");
    if (!maps)
        return not_opened(program);
    program->memory = open_proc(program->pid, "mem");
    bool ok = program->memory >= 0 && read_map(&map, maps);
    if (ok)
        add_objects(program, &map);
    int status = ok ? STATUS_CLEAN : not_opened(program);
    fclose(maps);
    free_map(&map);
    if (ok && !program->objects_count)
        status = command_error("process %ld runs no program that can be read", program->pid);
    return status;
}
