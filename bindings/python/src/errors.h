/* SPDX-License-Identifier: MIT */
/* Exceptions of the package: CaptureError, and below it CaptureDamaged and NotACapture. */
#ifndef CARRY_PYTHON_ERRORS_H
#define CARRY_PYTHON_ERRORS_H

#include "module.h"

bool errors_create(PyObject *module, struct module_state *state);

/*
 * Raises what an error of <carry/capture.h> is in Python, and returns NULL: OSError where it is the
 * system's, MemoryError, ValueError for wrong arguments, else an exception of the package with
 * `offset` and `reason`. `name` is the capture's, `report` what was found before, or NULL.
 */
PyObject *errors_raise(struct module_state *state, const struct carry_capture_error *error,
                       PyObject *name, PyObject *report);

#endif
