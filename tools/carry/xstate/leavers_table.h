/* SPDX-License-Identifier: MIT */
/*
 * Counts calls in a file that the tool makes and that all processes of a program share, so that the
 * counts outlive the processes. A row is for the calls of a function by one object. Rows are never
 * moved or removed.
 */
#ifndef CARRY_TOOLS_LEAVERS_TABLE_H
#define CARRY_TOOLS_LEAVERS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The environment variable that contains the path of the file. */
#define LEAVERS_VARIABLE "CARRY_LEAVERS"

#define LEAVERS_ROWS  65536 /* a power of two */
#define LEAVERS_BYTES (16 << 20)

enum leavers_state { LEAVERS_FREE, LEAVERS_WRITTEN, LEAVERS_READY };

struct leavers_row {
    uint32_t state; /* enum leavers_state */
    uint32_t names; /* offset of three names: the calling object, the function, the called object */
    uint64_t calls; /* calls that returned; the next counts are parts of this count */
    uint64_t ymm;   /* called clean, returned with AVX in use, but not ZMM_HI256 */
    uint64_t zmm;   /* called clean, returned with ZMM_HI256 in use */
    uint64_t called_dirty;
    uint64_t unknown; /* the state when called was not recorded */
};

struct leavers_table {
    uint64_t processes; /* processes with hooks; each execution of a program counts */
    uint64_t refused;   /* processes without hooks: the system refuses to map text or write slots */
    uint64_t lost;      /* functions that were omitted because the table is full */
    uint32_t keep;      /* uppers that a function left dirty are not cleaned */
    uint32_t addresses; /* calls without a PLT are hooked too, which changes addresses of
                           functions */
    uint32_t names_used;
    struct leavers_row rows[LEAVERS_ROWS];
    char names[LEAVERS_BYTES];
};

/* Returns the row of a function, and makes it if there is none; NULL if the table is full. */
struct leavers_row *leavers_table_row(struct leavers_table *table, const char *caller,
                                      const char *function, const char *called);

/* Reads the names of a row; returns false if they are not complete. */
struct leavers_names {
    const char *caller, *function, *called;
};
bool leavers_table_names(const struct leavers_table *table, const struct leavers_row *row,
                         struct leavers_names *names);

#endif
