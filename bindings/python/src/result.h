/* SPDX-License-Identifier: MIT */
/*
 * The findings of a check. The Python object shares their memory with Arrow streams: other
 * libraries may release such a stream in a thread without Python.
 */
#ifndef CARRY_PYTHON_RESULT_H
#define CARRY_PYTHON_RESULT_H

#include <stdatomic.h>

#include "module.h"

struct found {
    atomic_uint users;
    struct carry_capture_summary *summary;
    struct carry_capture_error error; /* code is CARRY_OK if the whole capture was read */
    unsigned wrong, listed;           /* sets of verdicts */
    uint64_t size;                    /* size of the file; 0: unknown */
    size_t kept;                      /* number of findings that the summary keeps */
    char name[];
};

/* Returns a summary for carry_capture_checker_run(), which clears it; NULL if there is no memory.
 */
struct carry_capture_summary *found_summary(void);

/* Creates findings that own the summary. If there is no memory, frees the summary, and returns
   NULL. */
struct found *found_create(struct carry_capture_summary *summary, const char *name);
struct found *found_use(struct found *found);
void found_release(struct found *found);

/* Returns the status: "damaged" or "failed" if not all was read, or else the outcome. */
const char *found_status(const struct found *found);

/* Returns a Result that owns the findings. If that fails, returns NULL with an exception set. */
PyObject *result_create(struct module_state *state, struct found *found);
const struct found *result_found(PyObject *result);

#endif
