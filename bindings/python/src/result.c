/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/page_parts.h"
#include "check/report.h"
#include "check/report_parts.h"
#include "check/source.h"
#include "tables.h"

/* --- Findings of a check --- */

/* A summary that is no longer used, or NULL. For a new summary, a megabyte must be zeroed, which
   takes as long as the check of a small capture. */
static struct carry_capture_summary *_Atomic spare;

struct carry_capture_summary *found_summary(void) {
    struct carry_capture_summary *summary = atomic_exchange(&spare, NULL);
    return summary ? summary : carry_capture_summary_create();
}

struct found *found_create(struct carry_capture_summary *summary, const char *name) {
    const size_t size = strlen(name) + 1;
    struct found *found = calloc(1, sizeof *found + size);
    if (!found) {
        carry_capture_summary_free(summary);
        return NULL;
    }
    found->users = 1;
    found->summary = summary;
    memcpy(found->name, name, size);
    while (carry_capture_kept(summary, found->kept))
        found->kept++;
    return found;
}

struct found *found_use(struct found *found) {
    found->users++;
    return found;
}

void found_release(struct found *found) {
    if (!found || --found->users)
        return;
    carry_capture_summary_free(atomic_exchange(&spare, found->summary));
    free(found);
}

const char *found_status(const struct found *found) {
    if (found->error.code == CARRY_OK)
        return carry_capture_outcome_name(carry_capture_outcome(found->summary, found->wrong));
    return source_is_damaged(found->error.code) ? "damaged" : "failed";
}

/* --- The object --- */

struct result {
    PyObject_HEAD;
    struct found *found;
};

PyObject *result_create(struct module_state *state, struct found *found) {
    struct result *result = PyObject_New(struct result, state->result);
    if (!result) {
        found_release(found);
        return NULL;
    }
    result->found = found;
    return (PyObject *)result;
}

const struct found *result_found(PyObject *result) {
    return ((const struct result *)result)->found;
}

static void result_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    found_release(((struct result *)self)->found);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A function that writes a report of the tool. */
typedef void write_fn(FILE *out, const struct found *found);

static PyObject *report_string(const struct found *found, write_fn *write) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return PyErr_NoMemory();
    write(out, found);
    const bool whole = fclose(out) == 0;
    PyObject *string =
        whole ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace") : PyErr_NoMemory();
    free(text);
    return string;
}

/* The number of findings that the command shows. */
#define SHOWN 5

static struct report result_report(const struct found *found) {
    return (struct report){.path = found->name,
                           .summary = found->summary,
                           .wrong = found->wrong,
                           .listed = found->listed,
                           .error = found->error,
                           .shown = SHOWN};
}

static void write_text(FILE *out, const struct found *found) {
    const struct report report = result_report(found);
    report_text(out, &report);
}

static void write_json(FILE *out, const struct found *found) {
    const struct report report = result_report(found);
    report_json(out, &report);
}

static void write_html(FILE *out, const struct found *found) {
    page_write_sections(out, found->summary);
}

static void write_outcome(FILE *out, const struct found *found) {
    report_write_outcome(out, found->summary, found->wrong);
}

#define WRITTEN(name)                                                                              \
    static PyObject *result_##name(PyObject *self, PyObject *none) {                               \
        (void)none;                                                                                \
        return report_string(result_found(self), write_##name);                                    \
    }

WRITTEN(text)
WRITTEN(json)
WRITTEN(html)
WRITTEN(outcome)
#undef WRITTEN

static PyObject *result_status(PyObject *self, PyObject *none) {
    (void)none;
    return PyUnicode_InternFromString(found_status(result_found(self)));
}

static PyObject *result_complete(PyObject *self, PyObject *none) {
    const struct found *found = result_found(self);
    (void)none;
    return PyBool_FromLong(found->error.code == CARRY_OK &&
                           carry_capture_is_complete(found->summary, found->wrong));
}

static Py_ssize_t result_length(PyObject *self) {
    return (Py_ssize_t)result_found(self)->kept;
}

static PyObject *result_item(PyObject *self, Py_ssize_t index) {
    return tables_finding(module_state_of(Py_TYPE(self)), result_found(self), index);
}

static PyObject *result_listed(PyObject *self, PyObject *none) {
    const struct found *found = result_found(self);
    (void)none;
    return PyLong_FromUnsignedLongLong(carry_capture_total(found->summary, found->listed));
}

static PyObject *result_table(PyObject *self, PyObject *name) {
    struct result *result = (struct result *)self;
    return tables_create(module_state_of(Py_TYPE(self)), result->found, name);
}

static PyMethodDef result_methods[] = {
    {"text", result_text, METH_NOARGS, NULL},
    {"json", result_json, METH_NOARGS, NULL},
    {"html", result_html, METH_NOARGS, NULL},
    {"outcome", result_outcome, METH_NOARGS, NULL},
    {"status", result_status, METH_NOARGS, NULL},
    {"complete", result_complete, METH_NOARGS, NULL},
    {"listed", result_listed, METH_NOARGS, NULL},
    {"table", result_table, METH_O, NULL},
    {0},
};

static PyType_Slot result_slots[] = {
    {Py_tp_dealloc, result_free},
    {Py_tp_methods, result_methods},
    {Py_sq_length, result_length},
    {Py_sq_item, result_item},
    {0, NULL},
};

static PyType_Spec result_spec = {
    .name = "libcarry._carry.Result",
    .basicsize = sizeof(struct result),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = result_slots,
};

bool result_types(PyObject *module, struct module_state *state) {
    return (state->result = module_type(module, &result_spec, "Result"));
}
