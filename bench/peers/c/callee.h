/* SPDX-License-Identifier: MIT */
/* Declares the callee of all forms of calls: it adds 1, so that calls can be counted. */
#ifndef BENCH_CALLEE_H
#define BENCH_CALLEE_H

#include <stddef.h>

size_t peer_callee(size_t count);        /* in the process itself */
size_t peer_callee_shared(size_t count); /* in a shared library */

#endif
