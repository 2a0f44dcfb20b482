/* SPDX-License-Identifier: MIT */
/* Denies system calls or memory to a process: for child processes of a test. */
#ifndef CARRY_TESTS_SANDBOX_H
#define CARRY_TESTS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A system call that fails with `error` if (argument & mask) == value; always if mask is 0. */
struct sandbox_rule {
    int call;
    int error;
    unsigned argument;
    uint32_t mask;
    uint32_t value;
};

/* Returns false if the kernel has no filters, or this process may not install one. */
bool sandbox_filter(const struct sandbox_rule *rules, size_t count);

#endif
