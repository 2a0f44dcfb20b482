/* SPDX-License-Identifier: MIT */
/* The functions of an object, by their places in its file. */
#ifndef CARRY_TOOLS_PROF_SYMBOLS_H
#define CARRY_TOOLS_PROF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;

struct symbols_function {
    uint64_t address; /* in the object; where it starts */
    const char *name; /* NULL if no symbol tells; good until the symbols are closed */
};

/* Of an open file; NULL if it is none that is executed. The path leads to its debug file. */
struct symbols *symbols_open(const char *path, int file);
void symbols_close(struct symbols *symbols);

/* False if nothing at this offset is executed. */
bool symbols_find(const struct symbols *symbols, uint64_t offset,
                  struct symbols_function *function);

#endif
