/* SPDX-License-Identifier: MIT */
/*
 * libcarry._carry: what the package needs in C, by Python's stable ABI.
 *
 * Contract shared by all functions that Python calls:
 *  - bytes come by the buffer protocol. They are not copied, and cannot be resized while they are
 *    used;
 *  - functions that sum or read release the GIL, except for small buffers, where that would cost
 *    more than the sum;
 *  - a Capture must be used by one thread at a time: another one gets RuntimeError. Other objects
 *    never change, and threads may share them.
 */
#ifndef CARRY_PYTHON_MODULE_H
#define CARRY_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

/* What a module object holds; one for each interpreter. */
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

/* The functions of each file, ended by a row of zeros; added to the module by module.c. */
extern PyMethodDef sum_methods[], packet_methods[], capture_methods[], part_methods[],
    table_methods[];

/* Make the types of each file; false with an exception set. */
bool packet_types(PyObject *module, struct module_state *state);
bool capture_types(PyObject *module, struct module_state *state);
bool result_types(PyObject *module, struct module_state *state);
bool table_types(PyObject *module, struct module_state *state);

/* Makes a type from its description, and gives it to the module unless its name is to stay inside.
 */
PyTypeObject *module_type(PyObject *module, PyType_Spec *spec, const char *public_name);

/* --- Arguments --- */

/* Bytes in one piece; false with an exception set. To be released by PyBuffer_Release(). */
bool argument_bytes(PyObject *object, Py_buffer *bytes);
bool argument_writable(PyObject *object, Py_buffer *bytes);

/* Text in UTF-8 that holds no zero byte; NULL with an exception set. It lives as long as `object`.
 */
const char *argument_text(PyObject *object);

/* A number from 0 to `largest`; false with an exception set that names the argument. */
bool argument_number(PyObject *object, const char *name, uint64_t largest, uint64_t *number);

/* True if there are from `least` to `most` arguments; else false with an exception set. */
bool argument_count(const char *function, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most);

/* An array of integers, of 4 or 8 bytes each: NumPy's, array.array's, a memoryview's. */
struct numbers {
    Py_buffer view;
    Py_ssize_t count;
    bool is_wide, is_signed;
};

bool numbers_open(struct numbers *numbers, PyObject *object, const char *name);
void numbers_close(struct numbers *numbers);

/* True if the elements are integers in the byte order of this machine; *is_signed says which. */
bool numbers_are_integers(const Py_buffer *view, bool *is_signed);

/* Opens `count` numbers of at most 32 bits each, or none if `object` is None. */
bool numbers_open_for_each(struct numbers *numbers, PyObject *object, const char *name,
                           Py_ssize_t count);

/* The number at `index`; UINT64_MAX for a negative one. */
uint64_t numbers_at(const struct numbers *numbers, Py_ssize_t index);

/* Many runs of bytes in one buffer. */
struct runs {
    Py_buffer bytes;
    struct numbers offsets, sizes;
    Py_ssize_t count;
};

/* Opens them and sees that each lies inside; false with an exception set that names the first one
   that does not. */
bool runs_open(struct runs *runs, PyObject *bytes, PyObject *offsets, PyObject *sizes,
               bool writable);
void runs_close(struct runs *runs);

struct run {
    const uint8_t *data;
    size_t size;
};

/*
 * Gets run `index`. False, with an empty run, if it lies outside the buffer. That can happen after
 * runs_open() too: what is written to the buffer, or to an array of results, may change offsets and
 * sizes in the same memory.
 */
bool run_at(const struct runs *runs, Py_ssize_t index, struct run *run);

/* --- Results --- */

/* Sets a member of a named tuple, and takes the value over; false if that is NULL. */
static inline bool member_set(PyObject *tuple, Py_ssize_t index, PyObject *value) {
    PyStructSequence_SetItem(tuple, index, value);
    return value;
}

/* A new memoryview of `count` numbers, of a format of the struct module, at *numbers. */
PyObject *numbers_create(char format, Py_ssize_t count, void **numbers);

#endif
