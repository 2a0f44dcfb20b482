/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <errno.h>
#include <string.h>

static PyObject *create_exception(PyObject *module, const char *name, const char *text,
                                  PyObject *base) {
    char full[64];
    PyOS_snprintf(full, sizeof full, "libcarry.%s", name);
    PyObject *error = PyErr_NewExceptionWithDoc(full, text, base, NULL);
    if (error && PyModule_AddObjectRef(module, name, error) < 0)
        Py_CLEAR(error);
    return error;
}

bool errors_create(PyObject *module, struct module_state *state) {
    state->capture_error =
        create_exception(module, "CaptureError",
                         "A capture that cannot be read to its end.\n\n"
                         "`name` is the capture's, `offset` counts bytes of the capture "
                         "(uncompressed), `reason` is one line,\nand `report`, unless it "
                         "is None, holds what was found before.",
                         PyExc_ValueError);
    if (!state->capture_error)
        return false;
    state->capture_damaged = create_exception(
        module, "CaptureDamaged", "A capture that contradicts its format from `offset` on.",
        state->capture_error);
    state->not_a_capture = create_exception(
        module, "NotACapture", "A file that is no capture of a format that is read here.",
        state->capture_error);
    return state->capture_damaged && state->not_a_capture;
}

static PyObject *exception_class(const struct module_state *state, int code) {
    return code == CARRY_ERROR_DAMAGED        ? state->capture_damaged
           : code == CARRY_ERROR_UNRECOGNISED ? state->not_a_capture
                                              : state->capture_error;
}

/* Sets a member of an exception, and releases the value. */
static bool set_member(PyObject *error, const char *name, PyObject *value) {
    int result = value ? PyObject_SetAttrString(error, name, value) : -1;
    Py_XDECREF(value);
    return result == 0;
}

static PyObject *or_none(PyObject *object) {
    PyObject *result = object ? object : Py_None;
    Py_INCREF(result);
    return result;
}

static PyObject *exception_text(const struct carry_capture_error *error, PyObject *name) {
    return error->code == CARRY_ERROR_DAMAGED
               ? PyUnicode_FromFormat("%S: damaged at offset %llu: %s", name,
                                      (unsigned long long)error->offset, error->text)
               : PyUnicode_FromFormat("%S: %s", name, error->text);
}

static void raise_package_error(struct module_state *state, const struct carry_capture_error *error,
                                PyObject *name, PyObject *report) {
    PyObject *class = exception_class(state, error->code), *text = exception_text(error, name);
    PyObject *object = text ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;
    if (object && set_member(object, "name", or_none(name)) &&
        set_member(object, "offset", PyLong_FromUnsignedLongLong(error->offset)) &&
        set_member(object, "reason",
                   PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace")) &&
        set_member(object, "report", or_none(report)))
        PyErr_SetObject(class, object);
    Py_XDECREF(object);
    Py_XDECREF(text);
}

PyObject *errors_raise(struct module_state *state, const struct carry_capture_error *error,
                       PyObject *name, PyObject *report) {
    if (error->code == CARRY_ERROR_MEMORY)
        return PyErr_NoMemory();
    if (error->code == CARRY_ERROR_INVALID) {
        PyErr_SetString(PyExc_ValueError, "an option is out of its range");
        return NULL;
    }
    if (error->system) {
        errno = error->system;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name);
    }
    raise_package_error(state, error, name, report);
    return NULL;
}
