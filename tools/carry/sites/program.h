/* SPDX-License-Identifier: MIT */
/* What `carry sites` looks into: a file, or all objects of a running process. */
#ifndef CARRY_TOOLS_SITES_PROGRAM_H
#define CARRY_TOOLS_SITES_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sites/object.h"

struct program {
    const char *name; /* as given: a path or a number */
    long pid;         /* 0: a file */
    int memory;       /* of the process */
    char **paths;     /* of its objects */
    struct object **objects;
    size_t objects_count;
    const struct record **bodies; /* of all objects, by their function */
    size_t bodies_count;
    /* What the process's library knows, if its symbols tell. */
    bool state_known;
    bool applied;     /* carry_patch_apply() has run */
    unsigned refusal; /* an enum carry_patch_reason */
};

/* To be called whether it could be opened or not. */
void program_close(struct program *program);

/* Adds an opened object; false without memory. `path` is to be freed with the program, or NULL. */
bool program_add(struct program *program, struct object *object, char *path);

/* Sorts the bodies of all objects for program_bodies(); false without memory. */
bool program_collect_bodies(struct program *program);

/* Reads what stands at `address`: in the process, or in the file. */
bool program_read(const struct program *program, uint64_t address, void *buffer, size_t size);

/*
 * Returns whether an object is loaded as it was when the program was opened: records never change.
 * False once a process has ended, or has unloaded the object.
 */
bool program_holds(const struct program *program, const struct object *object);

/* Returns whether a process has ended since it was opened. */
bool program_has_ended(const struct program *program);

/* The object that `address` is in, or NULL. */
const struct object *program_object_of(const struct program *program, uint64_t address);

/*
 * The bodies registered for a function, in a row. Compilers make copies of a function, each with a
 * record of its body; more than these are none, and not looked for.
 */
#define PROGRAM_BODIES_MAX 64
size_t program_bodies(const struct program *program, uint64_t function,
                      const struct record *const **first);

/* "function+0x10", or the address where no symbol is around. Returns `text`. */
#define PLACE_SIZE 128
char *program_place(const struct program *program, uint64_t address, char text[PLACE_SIZE]);

#endif
