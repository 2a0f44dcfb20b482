/* SPDX-License-Identifier: MIT */
/*
 * libcarry._carry: the part of the package in C, for Python's stable ABI.
 *
 * Contract shared by all functions that Python calls:
 *  - bytes are passed by the buffer protocol. They are not copied, and cannot be resized while
 *    they are used;
 *  - functions that sum or read release the GIL, except for small buffers, where that would cost
 *    more than the sum;
 *  - only one thread at a time may use a Capture: a second thread gets RuntimeError. Other objects
 *    never change, and threads may share them.
 */
#ifndef CARRY_PYTHON_MODULE_H
#define CARRY_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

/* The state of a module object; each interpreter has one. */
struct module_state {
    PyObject *capture_error; /* exceptions; see errors.c */
    PyObject *capture_damaged;
    PyObject *not_a_capture;
    PyTypeObject *packet_sum; /* types */
    PyTypeObject *packet_sums;
    PyTypeObject *finding;
    PyTypeObject *capture;
    PyTypeObject *result;
    PyTypeObject *table;
};

struct module_state *module_state(PyObject *module);
struct module_state *module_state_of(PyTypeObject *type);

/* The functions of each file, terminated by a row of zeros; module.c adds them to the module. */
extern PyMethodDef sum_methods[], packet_methods[], capture_methods[], part_methods[],
    table_methods[];

/* Create the types of one file each. Return false, with an exception set, if that fails. */
bool packet_types(PyObject *module, struct module_state *state);
bool capture_types(PyObject *module, struct module_state *state);
bool result_types(PyObject *module, struct module_state *state);
bool table_types(PyObject *module, struct module_state *state);

/* Creates a type from its description, and adds it to the module if it has a public name. */
PyTypeObject *module_type(PyObject *module, PyType_Spec *spec, const char *public_name);

/* --- Arguments --- */

/* Get the contiguous bytes of an object; argument_writable() requires that they are writable.
   Return false, with an exception set, if the object has no such bytes. The caller releases them
   with PyBuffer_Release(). */
bool argument_bytes(PyObject *object, Py_buffer *bytes);
bool argument_writable(PyObject *object, Py_buffer *bytes);

/* Returns the UTF-8 text of `object`, valid as long as `object`. Returns NULL, with an exception
   set, if it is not text or contains a zero byte. */
const char *argument_text(PyObject *object);

/* Gets a number from 0 to `largest`. For other objects, returns false, with an exception set; it
   names the argument if the object is an integer. */
bool argument_number(PyObject *object, const char *name, uint64_t largest, uint64_t *number);

/* Checks that there are from `least` to `most` arguments. If not, sets an exception and returns
   false. */
bool argument_count(const char *function, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most);

/* An array of integers of 4 or 8 bytes: from NumPy, array.array or a memoryview. */
struct numbers {
    Py_buffer view;
    Py_ssize_t count;
    bool is_wide, is_signed;
};

bool numbers_open(struct numbers *numbers, PyObject *object, const char *name);
void numbers_close(struct numbers *numbers);

/* Checks that the elements are integers in the byte order of this machine; sets *is_signed. */
bool numbers_are_integers(const Py_buffer *view, bool *is_signed);

/* Opens `count` numbers of at most 32 bits each, or none if `object` is None. */
bool numbers_open_for_each(struct numbers *numbers, PyObject *object, const char *name,
                           Py_ssize_t count);

/* Returns the number at `index`, or UINT64_MAX if the number is negative. */
uint64_t numbers_at(const struct numbers *numbers, Py_ssize_t index);

/* Many runs of bytes in one buffer. */
struct runs {
    Py_buffer bytes;
    struct numbers offsets, sizes;
    Py_ssize_t count;
};

/* Opens the runs. If that fails, returns false, with an exception set. If runs do not lie inside
   the buffer, the exception names the first one. */
bool runs_open(struct runs *runs, PyObject *bytes, PyObject *offsets, PyObject *sizes,
               bool writable);
void runs_close(struct runs *runs);

struct run {
    const uint8_t *data;
    size_t size;
};

/*
 * Gets run `index`. If it lies outside the buffer, sets an empty run and returns false. That can
 * happen after runs_open() too: writes to the buffer, or to an array of results, may change offsets
 * and sizes in the same memory.
 */
bool run_at(const struct runs *runs, Py_ssize_t index, struct run *run);

/* --- Results --- */

/* Moves `value` into a member of a named tuple; returns false if `value` is NULL. */
static inline bool member_set(PyObject *tuple, Py_ssize_t index, PyObject *value) {
    PyStructSequence_SetItem(tuple, index, value);
    return value;
}

/* Creates `count` numbers in a format of the struct module, and sets *numbers to their address.
   Returns a memoryview of them. */
PyObject *numbers_create(char format, Py_ssize_t count, void **numbers);

#endif
