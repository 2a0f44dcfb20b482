/* SPDX-License-Identifier: MIT */
/*
 * What a check found. Its memory belongs to all who use it: the object in Python, and Arrow's
 * streams, which other libraries release in threads that know nothing of Python.
 */
#ifndef CARRY_PYTHON_RESULT_H
#define CARRY_PYTHON_RESULT_H

#include <stdatomic.h>

#include "module.h"

struct found {
    atomic_uint users;
    struct carry_capture_summary *summary;
    struct carry_capture_error error; /* its code is CARRY_OK if all was read */
    unsigned wrong, listed;           /* sets of verdicts */
    uint64_t size;                    /* of the file; 0: not known */
    size_t kept;                      /* findings that the summary keeps */
    char name[];
};

/* A summary for carry_capture_checker_run(), which clears it; NULL without memory. */
struct carry_capture_summary *found_summary(void);

/* Takes the summary over, also on failure; NULL without memory. */
struct found *found_create(struct carry_capture_summary *summary, const char *name);
struct found *found_use(struct found *found);
void found_release(struct found *found);

/* The outcome, or "damaged" or "failed" where not all was read. */
const char *found_status(const struct found *found);

/* A Result, which takes over what was found; NULL with an exception set. */
PyObject *result_create(struct module_state *state, struct found *found);
const struct found *result_found(PyObject *result);

#endif
