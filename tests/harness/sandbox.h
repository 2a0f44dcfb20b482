/* SPDX-License-Identifier: MIT */
/* Denies system calls or memory to the calling process, usually a child process of a test. */
#ifndef CARRY_TESTS_SANDBOX_H
#define CARRY_TESTS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A system call that fails with `error` if its argument number `argument`, masked with `mask`,
 * equals `value`.
 */
struct sandbox_rule {
    int call;
    int error;
    unsigned argument;
    uint32_t mask;
    uint32_t value;
};

/* Installs up to 16 rules for this process. Returns false if there are more, if the kernel has no
 * filters, or if this process may not install one. */
bool sandbox_filter(const struct sandbox_rule *rules, size_t count);

#endif
