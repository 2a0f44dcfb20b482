/* SPDX-License-Identifier: MIT */
/* Exceptions of the package: CaptureError, and below it CaptureDamaged and NotACapture. */
#ifndef CARRY_PYTHON_ERRORS_H
#define CARRY_PYTHON_ERRORS_H

#include "module.h"

bool errors_create(PyObject *module, struct module_state *state);

/*
 * Raises the exception for an error of <carry/capture.h>, and returns NULL: OSError for an error of
 * the system, MemoryError, ValueError for wrong arguments, or else an exception of the package with
 * `offset` and `reason`. `name` is the name of the capture. `report` is a Result of the packets
 * before the error, or NULL.
 */
PyObject *errors_raise(struct module_state *state, const struct carry_capture_error *error,
                       PyObject *name, PyObject *report);

#endif
