/* SPDX-License-Identifier: MIT */
/*
 * What was seen of calls, in a file that the tool makes and all processes of a program share: so it
 * is there whatever becomes of them. A row is a function, as one object calls it in another. Rows
 * are never moved or removed.
 */
#ifndef CARRY_TOOLS_LEAVERS_TABLE_H
#define CARRY_TOOLS_LEAVERS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The path of the file is the value of this variable of the environment. */
#define LEAVERS_VARIABLE "CARRY_LEAVERS"

#define LEAVERS_ROWS  65536 /* a power of two */
#define LEAVERS_BYTES (16 << 20)

enum leavers_state { LEAVERS_FREE, LEAVERS_WRITTEN, LEAVERS_READY };

struct leavers_row {
    uint32_t state; /* enum leavers_state */
    uint32_t names; /* where: of the calling object, of the function, of the object called */
    uint64_t calls; /* that returned; of these: */
    uint64_t ymm;   /* clean when called, with AVX in use on return, but not */
    uint64_t zmm;   /* ZMM_HI256, which is more */
    uint64_t called_dirty;
    uint64_t unknown; /* how they were called is not known any more */
};

struct leavers_table {
    uint64_t processes; /* that took part; each execution of a program counts */
    uint64_t refused;   /* that could not, as the system lets nobody map text or write to slots */
    uint64_t lost;      /* functions that were left out because the table is full */
    uint32_t keep;      /* uppers that were left dirty stay so */
    uint32_t addresses; /* calls are hooked where this changes what address a function has, too */
    uint32_t names_used;
    struct leavers_row rows[LEAVERS_ROWS];
    char names[LEAVERS_BYTES];
};

/* The row of a function, which is made if there is none; NULL if the table is full. */
struct leavers_row *leavers_table_row(struct leavers_table *table, const char *caller,
                                      const char *function, const char *called);

/* The names of a row, one after the other; NULL if they are not whole. */
struct leavers_names {
    const char *caller, *function, *called;
};
bool leavers_table_names(const struct leavers_table *table, const struct leavers_row *row,
                         struct leavers_names *names);

#endif
