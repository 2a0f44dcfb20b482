/* SPDX-License-Identifier: MIT */
/* The program that `carry sites` examines: a file, or all objects of a process. */
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
    int memory;       /* descriptor of the memory of the process */
    char **paths;     /* of its objects */
    struct object **objects;
    size_t objects_count;
    const struct record **bodies; /* of all objects, sorted by function */
    size_t bodies_count;
    /* The state of the process's library, if its symbols are known. */
    bool state_known;
    bool applied;     /* carry_patch_apply() has run */
    unsigned refusal; /* an enum carry_patch_reason */
};

/* Closes a program, even if it could not be opened. */
void program_close(struct program *program);

/* Adds an object; returns false if there is no memory. program_close() frees `path`, which may be
 * NULL. */
bool program_add(struct program *program, struct object *object, char *path);

/* Sorts the bodies of all objects for program_bodies(); returns false if there is no memory. */
bool program_collect_bodies(struct program *program);

/* Reads memory of the process, or bytes of the file, at `address`; returns false if that fails. */
bool program_read(const struct program *program, uint64_t address, void *buffer, size_t size);

/*
 * Returns whether an object is still loaded as it was when the program was opened. Compares its
 * records, as these never change. Returns false if the process has ended, or has unloaded the
 * object.
 */
bool program_holds(const struct program *program, const struct object *object);

/* Returns whether a process has ended since it was opened. */
bool program_has_ended(const struct program *program);

/* Returns the object that contains `address`, or NULL. */
const struct object *program_object_of(const struct program *program, uint64_t address);

/*
 * Returns the number of bodies of a function, at most PROGRAM_BODIES_MAX, and sets `*first` to the
 * first of them. Compilers make copies of a function, each with a record of its body, but fewer
 * copies than PROGRAM_BODIES_MAX.
 */
#define PROGRAM_BODIES_MAX 64
size_t program_bodies(const struct program *program, uint64_t function,
                      const struct record *const **first);

/* Writes "function+0x10", or the address if no symbol contains it. Returns `text`. */
#define PLACE_SIZE 128
char *program_place(const struct program *program, uint64_t address, char text[PLACE_SIZE]);

#endif
