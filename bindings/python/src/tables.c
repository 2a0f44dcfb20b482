/* SPDX-License-Identifier: MIT */
/* Tables as Python objects. */
#include "tables.h"

#include <stdlib.h>

/* --- Findings as named tuples --- */

static PyStructSequence_Field finding_fields[] = {
#define FINDINGS(name, type, is_nullable, text) {#name, text},
#include "tables.def"
    {0},
};

static PyStructSequence_Desc finding_description = {
    "libcarry.Finding",
    "One checksum of a capture: a row of the table 'findings'. Times are nanoseconds since 1970.",
    finding_fields,
#define FINDINGS(name, type, is_nullable, text) +1
#include "tables.def"
};

static PyObject *cell_object(const struct cell *cell, enum column_type type) {
    if (cell->is_null) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    if (type == COLUMN_TEXT)
        return PyUnicode_DecodeUTF8(cell->text, (Py_ssize_t)cell->size, "replace");
    if (type == COLUMN_BOOL)
        return PyBool_FromLong(cell->number != 0);
    return PyLong_FromUnsignedLongLong(cell->number);
}

PyObject *tables_finding(const struct module_state *state, const struct found *found,
                         Py_ssize_t index) {
    const struct table *table = table_named("findings");
    struct row row = {.found = found};
    if (index < 0 || !table->row(&row, (size_t)index)) {
        PyErr_SetString(PyExc_IndexError, "there are fewer findings");
        return NULL;
    }
    PyObject *tuple = PyStructSequence_New(state->finding);
    for (size_t i = 0; tuple && i < table->columns_count; i++) {
        struct cell cell = {.is_null = false};
        table->columns[i].put(&cell, &row);
        if (!member_set(tuple, (Py_ssize_t)i, cell_object(&cell, table->columns[i].type)))
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* --- Tables --- */

/* A table with its rows, or only a schema (found is NULL). */
struct table_object {
    PyObject_HEAD;
    const struct table *table;
    struct found *found;
};

static PyObject *create_table(struct module_state *state, PyObject *name, struct found *found) {
    const char *text = argument_text(name);
    const struct table *table = text ? table_named(text) : NULL;
    if (text && !table)
        PyErr_SetObject(PyExc_KeyError, name);
    if (!table)
        return NULL;
    struct table_object *self = PyObject_New(struct table_object, state->table);
    if (self) {
        self->table = table;
        self->found = found ? found_use(found) : NULL;
    }
    return (PyObject *)self;
}

PyObject *tables_create(struct module_state *state, struct found *found, PyObject *name) {
    return create_table(state, name, found);
}

static void table_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    found_release(((struct table_object *)object)->found);
    PyObject_Free(object);
    Py_DECREF(type);
}

static void schema_free(struct ArrowSchema *schema) {
    if (schema->release)
        schema->release(schema);
    free(schema);
}

static void free_schema_capsule(PyObject *capsule) {
    schema_free(PyCapsule_GetPointer(capsule, "arrow_schema"));
}

static PyObject *table_schema(PyObject *self, PyObject *none) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    (void)none;
    if (!schema || !arrow_schema(schema, ((struct table_object *)self)->table)) {
        free(schema);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule);
    if (!capsule)
        schema_free(schema);
    return capsule;
}

static void stream_free(struct ArrowArrayStream *stream) {
    if (stream->release)
        stream->release(stream);
    free(stream);
}

static void free_stream_capsule(PyObject *capsule) {
    stream_free(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
}

static PyObject *table_stream(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *const names[] = {"requested_schema", NULL};
    const struct table_object *own = (const struct table_object *)self;
    PyObject *requested = Py_None; /* Arrow lets a producer ignore it */
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", (char **)names, &requested))
        return NULL;
    if (!own->found)
        return PyErr_Format(PyExc_TypeError, "a schema has no rows");
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    if (!stream || !arrow_stream(stream, own->table, own->found)) {
        free(stream);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
    if (!capsule)
        stream_free(stream);
    return capsule;
}

static PyObject *table_columns(PyObject *self, void *closure) {
    const struct table *table = ((const struct table_object *)self)->table;
    PyObject *tuple = PyTuple_New((Py_ssize_t)table->columns_count);
    (void)closure;
    for (size_t i = 0; tuple && i < table->columns_count; i++) {
        PyObject *pair = Py_BuildValue("(ss)", table->columns[i].name, table->columns[i].text);
        if (!pair || PyTuple_SetItem(tuple, (Py_ssize_t)i, pair) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *table_text(PyObject *self) {
    const struct table_object *own = (const struct table_object *)self;
    return PyUnicode_FromFormat("<libcarry table %s%s>", own->table->name,
                                own->found ? "" : ", without rows");
}

static PyMethodDef methods[] = {
    {"__arrow_c_schema__", table_schema, METH_NOARGS, "The columns, by Arrow's C interface."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     "The rows, by Arrow's C interface."},
    {0},
};

static PyGetSetDef columns[] = {
    {"columns", table_columns, NULL, "The name of each column, and what it is.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A table for consumers of Arrow's C interface: pyarrow, Polars, DuckDB."},
    {Py_tp_dealloc, table_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, columns},
    {Py_tp_repr, table_text},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "libcarry.Table",
    .basicsize = sizeof(struct table_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

bool table_types(PyObject *module, struct module_state *state) {
    state->table = module_type(module, &spec, "Table");
    state->finding = PyStructSequence_NewType(&finding_description);
    return state->table && state->finding &&
           PyModule_AddObjectRef(module, "Finding", (PyObject *)state->finding) == 0;
}

static PyObject *py_schema(PyObject *module, PyObject *name) {
    return create_table(module_state(module), name, NULL);
}

PyMethodDef table_methods[] = {
    {"schema", py_schema, METH_O,
     "schema(table, /)\n--\n\n"
     "The columns of the table 'files', 'counts' or 'findings', for example for pyarrow.schema()."},
    {0},
};
