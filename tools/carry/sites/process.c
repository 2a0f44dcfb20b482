/* SPDX-License-Identifier: MIT */
/* Opens the objects of a process by its map in /proc. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/process_map.h"
#include "sites/open.h"

#define PAGE_BYTES UINT64_C(4096)

/* --- Objects --- */

static bool is_executable_at(const struct process_map *map, uint64_t address) {
    const struct process_mapping *mapping = process_map_find(map, address);
    return mapping && mapping->executable;
}

static bool starts_as_elf(const struct program *program, uint64_t address) {
    char magic[4];
    return program_read(program, address, magic, sizeof magic) &&
           memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* Returns whether an object is loaded to be executed, rather than mapped to be read. */
static bool is_loaded_to_run(const struct object *object, const struct process_map *map) {
    for (size_t i = 0; i < object->loads_count; i++)
        if (object->loads[i].executable)
            return is_executable_at(map, object->loads[i].address);
    return false;
}

static void skip_mapping(const struct program *program, const struct process_mapping *mapping,
                         const char *reason) {
    command_error("process %ld: %s: %s; its sites are left out", program->pid, mapping->path,
                  reason);
}

/* Moves an object to where it is mapped; returns whether the process runs its sites. */
static bool is_object_wanted(const struct program *program, const struct process_map *map,
                             const struct process_mapping *mapping, struct object *object) {
    object_move(object, mapping->start - (object->loads[0].address & ~(PAGE_BYTES - 1)));
    if (!is_loaded_to_run(object, map))
        return false;
    if (program_holds(program, object))
        return true;
    skip_mapping(program, mapping, "has changed since it was loaded");
    return false;
}

/* Adds a mapped object. Reports and skips an object that cannot be read, with its sites. */
static void add_mapped(struct program *program, const struct process_map *map,
                       const struct process_mapping *mapping) {
    char problem[OBJECT_PROBLEM_SIZE], root[32];
    int file = process_map_open(mapping, program->pid);
    if (file < 0) {
        skip_mapping(program, mapping, strerror(errno));
        return;
    }
    snprintf(root, sizeof root, "/proc/%ld/root", program->pid);
    struct object *object = object_open(file, root, mapping->path, problem);
    if (!object) {
        skip_mapping(program, mapping, problem);
        return;
    }
    char *path = strdup(mapping->path);
    object->path = path;
    if (path && is_object_wanted(program, map, mapping, object) &&
        program_add(program, object, path))
        return;
    object_close(object);
    free(path);
}

static void add_objects(struct program *program, const struct process_map *map) {
    for (size_t i = 0; i < map->count; i++) {
        const struct process_mapping *mapping = &map->mappings[i];
        if (mapping->inode && !mapping->offset && starts_as_elf(program, mapping->start))
            add_mapped(program, map, mapping);
    }
}

/* --- The process --- */

/*
 * Reads two variables of src/patch/ that show why sites of a process are unpatched. They are not
 * part of the interface, so they are found only if all symbols of the library are known.
 */
static void read_state(struct program *program) {
    for (size_t i = 0; i < program->objects_count && !program->state_known; i++) {
        const struct object *object = program->objects[i];
        const struct object_symbol *applied = object_symbol_named(object, "carry_patch_applied");
        const struct object_symbol *refusal = object_symbol_named(object, "carry_patch_refusal");
        uint8_t flag, reason[4];
        if (applied && refusal && program_read(program, applied->address, &flag, sizeof flag) &&
            program_read(program, refusal->address, reason, sizeof reason)) {
            program->state_known = true;
            program->applied = flag;
            program->refusal = (unsigned)object_little(reason, sizeof reason);
        }
    }
}

int program_open_process(struct program *program) {
    struct process_map map;
    bool ok = process_map_read(&map, program->pid);
    if (ok)
        program->memory = process_open(program->pid, "mem");
    ok = ok && program->memory >= 0;
    if (ok)
        add_objects(program, &map);
    int status = ok ? STATUS_CLEAN : process_error(program->pid);
    process_map_free(&map);
    if (ok)
        read_state(program);
    if (ok && !program->objects_count)
        status = command_error("process %ld: its program cannot be read", program->pid);
    return status;
}
