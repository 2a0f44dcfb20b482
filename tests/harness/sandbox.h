/* SPDX-License-Identifier: MIT */
/* What keeps a process from system calls, or from memory: for children that nobody misses. */
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

/* False if the kernel has no filters, or this process may not have one. */
bool sandbox_filter(const struct sandbox_rule *rules, size_t count);

#endif
