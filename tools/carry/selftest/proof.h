/* SPDX-License-Identifier: MIT */
/* The kernels of a library, byte for byte, beside those that were proven. */
#ifndef CARRY_TOOLS_SELFTEST_PROOF_H
#define CARRY_TOOLS_SELFTEST_PROOF_H

#include "selftest/library.h"
#include "selftest/report.h"

enum proof_state {
    PROOF_NONE,      /* nothing was proven of this function, on this architecture */
    PROOF_DIFFERENT, /* its code is not what was proven */
    PROOF_PROVEN,
    PROOF_STATES
};

struct proof_row {
    struct carry_kernel_code code;
    enum proof_state state;
    const char *by; /* of what was proven: the compilers and assemblers that make it so; or NULL */
    uint32_t size;  /* of what was proven: bytes of code; or 0 */
};

#define PROOF_ROWS_MAX 128

struct proof {
    struct proof_row rows[PROOF_ROWS_MAX];
    size_t count;
    size_t states[PROOF_STATES]; /* how many rows are in each */
};

/* Compares all kernels of the library, those too that this CPU cannot run. False if this tool was
 * built without what computes digests. */
bool proof_compare(const struct library *library, struct proof *proof);

/* The same as a report; returns the exit status. */
int proof_report(const struct report_head *head, bool json);

#endif
