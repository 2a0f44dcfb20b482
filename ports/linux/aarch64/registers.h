/* SPDX-License-Identifier: MIT */
/* A process's vector registers, and a system call that must preserve them. */
#ifndef CARRY_LINUX_REGISTERS_H
#define CARRY_LINUX_REGISTERS_H

#include <stddef.h>
#include <sys/syscall.h>

#include "pairs.h"

struct registers {
    unsigned char bytes[32][16];
};

/* Returns how many bytes of each vector register read_with() loads and stores. */
static size_t vector_bytes(void) {
    return 16;
}

/* Calls read() with all vector registers loaded from `before`, then stores them to `after`. */
static long read_with(int file, void *buffer, size_t size, const struct registers *before,
                      struct registers *after) {
    register long x0 __asm__("x0") = file;
    register void *x1 __asm__("x1") = buffer;
    register size_t x2 __asm__("x2") = size;
    register long x8 __asm__("x8") = SYS_read;
#define LOAD(a, b)  "ldp q" #a ", q" #b ", [%[before], #16 * " #a "]\n"
#define STORE(a, b) "stp q" #a ", q" #b ", [%[after], #16 * " #a "]\n"
    __asm__ volatile(EACH_PAIR(LOAD) "svc #0\n" EACH_PAIR(STORE)
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x8), [before] "r"(before), [after] "r"(after)
                     : "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
                       "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
                       "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    return x0;
}

#endif
