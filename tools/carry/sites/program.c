/* SPDX-License-Identifier: MIT */
#include "sites/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <carry/patch.h>

bool program_add(struct program *program, struct object *object, char *path) {
    size_t count = program->objects_count + 1;
    struct object **objects = reallocarray(program->objects, count, sizeof *objects);
    if (objects)
        program->objects = objects;
    char **paths = reallocarray(program->paths, count, sizeof *paths);
    if (paths)
        program->paths = paths;
    if (!objects || !paths)
        return false;
    objects[count - 1] = object;
    paths[count - 1] = path;
    program->objects_count = count;
    return true;
}

void program_close(struct program *program) {
    for (size_t i = 0; i < program->objects_count; i++) {
        object_close(program->objects[i]);
        free(program->paths[i]);
    }
    free(program->objects);
    free(program->paths);
    free(program->bodies);
    if (program->memory >= 0)
        close(program->memory);
}

/* --- Bodies --- */

static int compare_functions(const void *a, const void *b) {
    const struct record *body_a = *(const struct record *const *)a;
    const struct record *body_b = *(const struct record *const *)b;
    return (body_a->key > body_b->key) - (body_a->key < body_b->key);
}

static bool is_body_record(const struct record *record) {
    return record->kind == CARRY_SITE_BODY && record->version == CARRY_SITE_VERSION;
}

bool program_collect_bodies(struct program *program) {
    size_t records = 0;
    for (size_t i = 0; i < program->objects_count; i++)
        records += program->objects[i]->records_count;
    program->bodies = calloc(records + 1, sizeof(struct record *));
    for (size_t i = 0; program->bodies && i < program->objects_count; i++) {
        const struct object *object = program->objects[i];
        for (size_t j = 0; j < object->records_count; j++)
            if (is_body_record(&object->records[j]))
                program->bodies[program->bodies_count++] = &object->records[j];
    }
    if (program->bodies)
        qsort(program->bodies, program->bodies_count, sizeof(struct record *), compare_functions);
    return program->bodies;
}

size_t program_bodies(const struct program *program, uint64_t function,
                      const struct record *const **first) {
    size_t low = 0;
    for (size_t high = program->bodies_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (program->bodies[middle]->key < function)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < program->bodies_count && end - low < PROGRAM_BODIES_MAX &&
           program->bodies[end]->key == function)
        end++;
    *first = program->bodies + low;
    return end - low;
}

/* --- Memory --- */

const struct object *program_object_of(const struct program *program, uint64_t address) {
    for (size_t i = 0; i < program->objects_count; i++)
        if (object_load_of(program->objects[i], address))
            return program->objects[i];
    return NULL;
}

bool program_read(const struct program *program, uint64_t address, void *buffer, size_t size) {
    if (program->pid)
        return pread(program->memory, buffer, size, (off_t)address) == (ssize_t)size;
    return object_read(program->objects[0], address, buffer, size);
}

bool program_holds(const struct program *program, const struct object *object) {
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

/* Reads memory of the process: Linux returns 0 bytes once the process has ended, and an error for
 * unmapped addresses. */
bool program_has_ended(const struct program *program) {
    uint8_t byte;
    return program->pid && pread(program->memory, &byte, sizeof byte, 0) == 0;
}

char *program_place(const struct program *program, uint64_t address, char text[PLACE_SIZE]) {
    const struct object *object = program_object_of(program, address);
    const struct object_symbol *symbol = object ? object_symbol_around(object, address) : NULL;
    unsigned long long offset = symbol ? address - symbol->address : 0;
    /* Truncates a long name, but not the offset. */
    if (symbol && offset)
        snprintf(text, PLACE_SIZE, "%.100s+0x%llx", symbol->name, offset);
    else if (symbol)
        snprintf(text, PLACE_SIZE, "%.100s", symbol->name);
    else
        snprintf(text, PLACE_SIZE, "0x%llx", (unsigned long long)address);
    return text;
}
