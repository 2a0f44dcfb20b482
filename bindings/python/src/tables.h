/* SPDX-License-Identifier: MIT */
/*
 * Results as tables: tables.def has the columns, tables_rows.c a value for each, arrow.c makes
 * Arrow's arrays of them, and tables.c the objects of Python.
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

/* A value: a number, or text, which may stand in `room`. */
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
    const struct carry_capture_finding *finding; /* of findings */
    unsigned protocol, verdict, reason, cause;   /* of counts */
};

struct column {
    const char *name;
    enum column_type type;
    bool is_nullable;
    void (*put)(struct cell *cell, const struct row *row);
    const char *text; /* what it is */
};

struct table {
    const char *name;
    const struct column *columns;
    size_t columns_count;
    /* Sets *row to row `index`, from 0; false if there are fewer. */
    bool (*row)(struct row *row, size_t index);
};

/* The table of this name; NULL if there is none. */
const struct table *table_named(const char *name);
const struct table *table_at(size_t index);

/* A Finding: row `index` of that table as a named tuple; NULL with IndexError if there are fewer.
 */
PyObject *tables_finding(const struct module_state *state, const struct found *found,
                         Py_ssize_t index);

/* A Table: something of which Arrow's consumers ask for a stream; NULL with KeyError. */
PyObject *tables_create(struct module_state *state, struct found *found, PyObject *name);

/* --- Arrow --- */

/* False without memory. */
bool arrow_schema(struct ArrowSchema *schema, const struct table *table);

/* A stream of all rows; uses what was found. */
bool arrow_stream(struct ArrowArrayStream *stream, const struct table *table, struct found *found);

#endif
