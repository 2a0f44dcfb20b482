/* SPDX-License-Identifier: MIT */
/* Converts arguments: bytes, numbers, arrays of numbers. */
#include "module.h"

#include <string.h>

bool argument_bytes(PyObject *object, Py_buffer *bytes) {
    return PyObject_GetBuffer(object, bytes, PyBUF_SIMPLE) == 0;
}

bool argument_writable(PyObject *object, Py_buffer *bytes) {
    return PyObject_GetBuffer(object, bytes, PyBUF_WRITABLE) == 0;
}

bool argument_count(const char *function, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most) {
    if (count >= least && count <= most)
        return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments (%zd given)", function, least,
                 most, count);
    return false;
}

const char *argument_text(PyObject *object) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text || strlen(text) == (size_t)size)
        return text;
    PyErr_SetString(PyExc_ValueError, "embedded null character");
    return NULL;
}

bool argument_number(PyObject *object, const char *name, uint64_t largest, uint64_t *number) {
    PyObject *index = PyNumber_Index(object);
    if (!index)
        return false;
    *number = PyLong_AsUnsignedLongLong(index);
    bool fits = !PyErr_Occurred() && *number <= largest;
    Py_DECREF(index);
    if (fits)
        return true;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s must be from 0 to %llu", name, (unsigned long long)largest);
    return false;
}

/* --- Arrays of numbers --- */

/* The characters of the struct module that mean the byte order of this machine. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDERS "@=<"
#else
#define OWN_ORDERS "@=>!"
#endif

/* Checks the format of the elements, which is a code of the struct module. NULL means bytes. */
bool numbers_are_integers(const Py_buffer *view, bool *is_signed) {
    const char *format = view->format ? view->format : "B";
    format += strchr(OWN_ORDERS, *format) && *format;
    *is_signed = strchr("bhilqn", *format);
    return *format && !format[1] && strchr("bBhHiIlLqQnN", *format);
}

static bool raise_numbers_problem(struct numbers *numbers, const char *name) {
    PyBuffer_Release(&numbers->view);
    PyErr_Format(PyExc_TypeError,
                 "%s must be a one-dimensional array of integers of 4 or 8 bytes in the byte order "
                 "of this machine",
                 name);
    return false;
}

bool numbers_open(struct numbers *numbers, PyObject *object, const char *name) {
    if (PyObject_GetBuffer(object, &numbers->view, PyBUF_FORMAT | PyBUF_ND) < 0)
        return false;
    const Py_buffer *view = &numbers->view;
    if (view->ndim != 1 || !numbers_are_integers(view, &numbers->is_signed) ||
        (view->itemsize != 4 && view->itemsize != 8))
        return raise_numbers_problem(numbers, name);
    numbers->is_wide = view->itemsize == 8;
    numbers->count = view->len / view->itemsize;
    return true;
}

void numbers_close(struct numbers *numbers) {
    PyBuffer_Release(&numbers->view);
}

uint64_t numbers_at(const struct numbers *numbers, Py_ssize_t index) {
    uint64_t wide;
    uint32_t narrow;
    const char *at = (const char *)numbers->view.buf + index * numbers->view.itemsize;
    if (numbers->is_wide) {
        memcpy(&wide, at, sizeof wide);
        return numbers->is_signed && wide >> 63 ? UINT64_MAX : wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return numbers->is_signed && narrow >> 31 ? UINT64_MAX : narrow;
}

/* Checks that there are `count` numbers of at most 32 bits. If not, sets an exception and returns
   false. */
static bool numbers_are_for_each(const struct numbers *numbers, const char *name,
                                 Py_ssize_t count) {
    if (numbers->count != count) {
        PyErr_Format(PyExc_ValueError, "there are %zd offsets, but %zd %s", count, numbers->count,
                     name);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (numbers_at(numbers, i) > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s[%zd] must be from 0 to %u", name, i, UINT32_MAX);
            return false;
        }
    return true;
}

bool numbers_open_for_each(struct numbers *numbers, PyObject *object, const char *name,
                           Py_ssize_t count) {
    *numbers = (struct numbers){0};
    if (object == Py_None)
        return true;
    if (!numbers_open(numbers, object, name))
        return false;
    if (numbers_are_for_each(numbers, name, count))
        return true;
    numbers_close(numbers);
    return false;
}

PyObject *numbers_create(char format, Py_ssize_t count, void **numbers) {
    const char code[] = {format, '\0'};
    const Py_ssize_t size = strchr("BH", format) ? (format == 'B' ? 1 : 2) : format == 'I' ? 4 : 8;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, count * size);
    PyObject *view = bytes ? PyMemoryView_FromObject(bytes) : NULL;
    PyObject *cast = view ? PyObject_CallMethod(view, "cast", "s", code) : NULL;
    if (cast)
        *numbers = PyByteArray_AsString(bytes);
    Py_XDECREF(view);
    Py_XDECREF(bytes);
    return cast;
}

/* --- Runs --- */

bool run_at(const struct runs *runs, Py_ssize_t index, struct run *run) {
    const uint64_t all = (uint64_t)runs->bytes.len;
    const uint64_t offset = numbers_at(&runs->offsets, index);
    const uint64_t size = numbers_at(&runs->sizes, index);
    const bool is_inside = offset <= all && size <= all - offset;
    run->data = (const uint8_t *)runs->bytes.buf + (is_inside ? offset : 0);
    run->size = is_inside ? (size_t)size : 0;
    return is_inside;
}

static bool runs_are_inside(const struct runs *runs) {
    struct run run;
    for (Py_ssize_t i = 0; i < runs->count; i++)
        if (!run_at(runs, i, &run)) {
            PyErr_Format(PyExc_ValueError, "run %zd lies outside the %zd bytes of the buffer", i,
                         runs->bytes.len);
            return false;
        }
    return true;
}

static bool runs_agree(struct runs *runs) {
    runs->count = runs->offsets.count;
    if (runs->sizes.count == runs->count)
        return runs_are_inside(runs);
    PyErr_Format(PyExc_ValueError, "there are %zd offsets, but %zd sizes", runs->count,
                 runs->sizes.count);
    return false;
}

bool runs_open(struct runs *runs, PyObject *bytes, PyObject *offsets, PyObject *sizes,
               bool writable) {
    *runs = (struct runs){0};
    if ((writable ? argument_writable : argument_bytes)(bytes, &runs->bytes) &&
        numbers_open(&runs->offsets, offsets, "offsets") &&
        numbers_open(&runs->sizes, sizes, "sizes") && runs_agree(runs))
        return true;
    runs_close(runs);
    return false;
}

/* Releases the buffers: PyBuffer_Release() ignores a buffer that was never filled. */
void runs_close(struct runs *runs) {
    numbers_close(&runs->sizes);
    numbers_close(&runs->offsets);
    PyBuffer_Release(&runs->bytes);
}
