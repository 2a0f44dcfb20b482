/* SPDX-License-Identifier: MIT */
/* Compares the kernels of a library with the code that was proven, byte for byte. */
#ifndef CARRY_TOOLS_SELFTEST_PROOF_H
#define CARRY_TOOLS_SELFTEST_PROOF_H

#include "selftest/library.h"
#include "selftest/selftest_report.h"

enum proof_state {
    PROOF_NONE,      /* the function was not proven on this architecture */
    PROOF_DIFFERENT, /* its code differs from the proven code */
    PROOF_PROVEN,
    PROOF_STATES
};

struct proof_row {
    struct carry_kernel_code code;
    enum proof_state state;
    const char *by; /* the compilers and assemblers that make the proven code; or NULL */
    uint32_t size;  /* bytes of the proven code; or 0 */
};

#define PROOF_ROWS_MAX 128

struct proof {
    struct proof_row rows[PROOF_ROWS_MAX];
    size_t count;
    size_t states[PROOF_STATES]; /* the number of rows in each state */
};

/* Compares all kernels of the library, including those that this CPU cannot run. Returns false if
 * the tool was built without libmd, which computes digests. */
bool proof_compare(const struct library *library, struct proof *proof);

/* Compares the kernels, and prints a report. Returns the exit status. */
int proof_report(const struct report_head *head, bool json);

#endif
