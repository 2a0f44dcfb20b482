/* SPDX-License-Identifier: MIT */
/* Finds the functions of an object by offsets in its file. */
#ifndef CARRY_TOOLS_PROF_SYMBOLS_H
#define CARRY_TOOLS_PROF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;

struct symbols_function {
    uint64_t address; /* the address of its start in the object */
    const char *name; /* NULL without a symbol; valid until the symbols are closed */
};

/* Opens the symbols of an open file. Returns NULL unless the file holds executable code. `path` is
 * used to find its debug file. */
struct symbols *symbols_open(const char *path, int file);
void symbols_close(struct symbols *symbols);

/* Finds the function at an offset; returns false if the file has no code there. */
bool symbols_find(const struct symbols *symbols, uint64_t offset,
                  struct symbols_function *function);

#endif
