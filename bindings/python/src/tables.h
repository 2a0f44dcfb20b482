/* SPDX-License-Identifier: MIT */
/*
 * Results as tables: tables.def lists the columns, tables_rows.c gets their values, arrow.c makes
 * Arrow arrays of them, and tables.c makes Python objects.
 */
#ifndef CARRY_PYTHON_TABLES_H
#define CARRY_PYTHON_TABLES_H

#include "arrow_abi.h"
#include "result.h"

enum column_type {
    COLUMN_TEXT,
    COLUMN_BOOL,
    COLUMN_UINT16,
    COLUMN_UINT32,
    COLUMN_UINT64,
    COLUMN_TIME, /* nanoseconds since 1970 in UTC */
    COLUMN_TYPES
};

/* A value: a number or text. Text may lie in `room`. */
struct cell {
    bool is_null;
    uint64_t number;
    const char *text;
    size_t size;
    char room[64];
};

/* A row that is being read. */
struct row {
    const struct found *found;
    const struct carry_capture_finding *finding; /* for the table findings */
    unsigned protocol, verdict, reason, cause;   /* for the table counts */
};

struct column {
    const char *name;
    enum column_type type;
    bool is_nullable;
    void (*put)(struct cell *cell, const struct row *row);
    const char *text; /* description */
};

struct table {
    const char *name;
    const struct column *columns;
    size_t columns_count;
    /* Sets *row to row `index`, counted from 0. Returns false if there are fewer rows. */
    bool (*row)(struct row *row, size_t index);
};

/* Returns the table of this name, or NULL if there is none. */
const struct table *table_named(const char *name);
const struct table *table_at(size_t index);

/* Returns row `index` of the table findings as a Finding. If there are fewer rows, returns NULL
   with IndexError set. */
PyObject *tables_finding(const struct module_state *state, const struct found *found,
                         Py_ssize_t index);

/* Returns a Table, from which consumers of Arrow get a stream. Returns NULL with KeyError if there
   is no table of this name. */
PyObject *tables_create(struct module_state *state, struct found *found, PyObject *name);

/* --- Arrow --- */

/* Makes the schema of a table. Returns false if there is no memory. */
bool arrow_schema(struct ArrowSchema *schema, const struct table *table);

/* Makes a stream of all rows that shares the findings. Returns false if there is no memory. */
bool arrow_stream(struct ArrowArrayStream *stream, const struct table *table, struct found *found);

#endif
