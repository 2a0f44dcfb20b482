/* SPDX-License-Identifier: MIT */
/* The result of a check. Checks return it, so that they can be checked themselves. */
#ifndef CARRY_TESTS_VERDICT_H
#define CARRY_TESTS_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

struct verdict {
    bool ok;
    char text[240]; /* the first failure; "" if there was none */
    uint64_t calls; /* of the checked function, as far as the check counts them */
};

/* Appends to the text and makes the verdict a failure. Returns false. */
bool verdict_fail(struct verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a test point for a verdict; the arguments after `verdict` are as for printf. */
#define verdict_report(verdict, ...) verdict_report_at(__FILE__, __LINE__, verdict, __VA_ARGS__)

bool verdict_report_at(const char *file, int line, const struct verdict *verdict, const char *name,
                       ...) __attribute__((format(printf, 4, 5)));

#endif
